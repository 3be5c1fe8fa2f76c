#!/bin/bash
# Runs the README's GNU parallel command over ssh, with an sshd that this test starts on the loopback address. The shards run in a folder
# that is not shared, and their parts are copied back. The merged result must equal that of a single run. The test is skipped with a
# message if sshd, parallel or rsync is not installed.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
program="$root/${RANKLAB_BUILD:-build}/ranklab"
sshd=$(PATH=$PATH:/usr/sbin command -v sshd || true)
for tool in "${sshd:-sshd}" parallel rsync; do
  command -v "$tool" >/dev/null || { echo "skipped: GNU parallel over ssh, $tool is not installed"; exit 0; }
done
folder=$(mktemp -d)
trap '[ -s "$folder/sshd.pid" ] && kill "$(cat "$folder/sshd.pid")"; rm -rf "$folder"' EXIT
cd "$folder"
port=${SSH_PORT:-26922}
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f user
cp user.pub authorized_keys
cat > sshd_config <<CONF
ListenAddress 127.0.0.1:$port
HostKey $folder/host
AuthorizedKeysFile $folder/authorized_keys
PidFile $folder/sshd.pid
PasswordAuthentication no
StrictModes no
UsePAM no
CONF
cat > ssh_config <<CONF
Host here
  HostName 127.0.0.1
  Port $port
  IdentityFile $folder/user
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known_hosts
  StrictHostKeyChecking accept-new
  LogLevel ERROR
CONF
[ -d /run/sshd ] || mkdir /run/sshd
"$sshd" -f sshd_config -E sshd.log

run="random-features --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 40"
n=8
mkdir -p project/build && cd project
cp "$program" build/ranklab
echo here > hosts
build/ranklab $run --quiet --out single.json

export PARALLEL_SSH="ssh -F $folder/ssh_config"
seq $n | parallel --will-cite --sshloginfile hosts -j1 --retries 3 --workdir "$folder/there" --basefile build/ranklab --return "run.{}-of-$n.part" --cleanup \
  "build/ranklab $run --shard {}/$n --out run.{}-of-$n.part --resume --quiet"
build/ranklab merge run.*-of-$n.part --out merged.json --quiet

python3 - <<'PYTHON'
import json
single, merged = (json.load(open(path), parse_float=str, parse_int=str) for path in ("single.json", "merged.json"))
for document in (single, merged):
    document.pop("timing")
    document["environment"] = None
assert json.dumps(single) == json.dumps(merged), "the merged result differs from that of the single run"
PYTHON
echo "passed: $n shards with GNU parallel over ssh"
