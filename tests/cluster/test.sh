#!/bin/bash
# A sharded run on a local Slurm cluster (up.sh). One task is killed and one node dies; then the parts are merged. The result must equal,
# byte for byte, that of a single run on this machine. RANKLAB_BUILD sets the build folder (default: build).
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
cd "$root"
export RANKLAB="$root/${RANKLAB_BUILD:-build}/ranklab"
folder=$(mktemp -d)
passed=no
finish() {
  tests/cluster/down.sh "$folder/cluster"
  if [ $passed = yes ]; then rm -rf "$folder"; else echo "FAILED; logs in $folder" >&2; fi
}
trap finish EXIT
say() { printf '%4d s  %s\n' $SECONDS "$*"; }
fail() { say "$*"; exit 1; }

tests/cluster/up.sh "$folder/cluster"
source "$folder/cluster/environment"
say "four nodes are up"

run="random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20 --trials ${TRIALS:-600}"
n=8
"$RANKLAB" $run --quiet --out "$folder/single.json"
say "the single run is done"

mkdir "$folder/parts"
job=$(sbatch --parsable --array=1-$n --output="$folder/parts/%a.log" experiments/shards.sbatch "$folder/parts/run" $run)
sbatch --parsable --dependency=afterany:"$job" --output="$folder/merge.log" --chdir="$folder" \
  --wrap "$RANKLAB merge $folder/parts/run.*-of-$n.part --out $folder/merged.json --quiet" > "$folder/merge.id"

# Prints the ids of the processes of a shard or a node, found by the variables that Slurm sets in their environment.
processes_with() {
  for process in /proc/[0-9]*; do
    if grep -qzxF "$1" "$process/environ" 2>/dev/null && grep -qzxF "SLURM_CONF=$SLURM_CONF" "$process/environ" 2>/dev/null; then
      basename "$process"
    fi
  done
}
# wait_for PART: waits until the part contains trials.
wait_for() {
  for _ in $(seq 240); do
    [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt 20000 ] && return
    sleep 0.25
  done
  fail "$1 did not grow within a minute"
}

wait_for "$folder/parts/run.1-of-$n.part"
for pid in $(processes_with "SLURM_ARRAY_TASK_ID=1"); do
  [ "$(readlink "/proc/$pid/exe")" = "$(realpath "$RANKLAB")" ] && kill -9 "$pid" && say "killed the program of shard 1, $pid"
done
"$RANKLAB" merge --dry-run "$folder"/parts/run.*-of-$n.part

wait_for "$folder/parts/run.3-of-$n.part"
node=$(squeue -h -j "${job}_3" -t RUNNING -o %N)
[ -n "$node" ] || fail "shard 3 is not running"
# Kill the node's daemon first, so that it cannot report the failure, then the step's daemon and the task.
daemon=$(cat "$folder/cluster/$node.pid")
work=$(processes_with "SLURMD_NODENAME=$node")
steps=$(for pid in $work; do awk '/^PPid/ {print $2}' "/proc/$pid/status" 2>/dev/null; done | sort -u)
kill -9 "$daemon"
for pid in $steps; do
  grep -qa slurmstepd "/proc/$pid/cmdline" 2>/dev/null && kill -9 "$pid"
done
kill -9 $work 2>/dev/null || true
rm -f "$folder/cluster/$node.pid"
say "node $node is dead, with shard 3 on it"

for _ in $(seq 600); do
  [ -s "$folder/merged.json" ] && break
  # Slurm delays requeued jobs by two minutes; start them at once.
  for i in 1 3; do
    squeue -h -t PENDING -j "${job}_$i" -o %r 2>/dev/null | grep -q BeginTime && scontrol update JobId="${job}_$i" StartTime=now
  done
  [ -z "$(squeue -h -j "$(cat "$folder/merge.id")" 2>/dev/null)" ] && break
  sleep 0.5
done
[ -s "$folder/merged.json" ] || { squeue >&2; cat "$folder"/merge.log "$folder"/parts/*.log >&2; fail "no result"; }
say "merged"
grep -q "put into the queue again" "$folder/parts/1.log" || fail "shard 1 was not requeued"
sinfo -h -N -n "$node" -o %T | grep -q down || fail "the killed node is not reported as down"

python3 - "$folder/single.json" "$folder/merged.json" <<'PYTHON'
import json
import sys
single, merged = (json.load(open(path), parse_float=str, parse_int=str) for path in sys.argv[1:])
for document in (single, merged):
    document.pop("timing")
    document["environment"] = None
assert json.dumps(single) == json.dumps(merged), "the merged result differs from that of the single run"
PYTHON
passed=yes
say "passed: the merged result equals that of the single run byte for byte"
