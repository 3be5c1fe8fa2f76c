#!/bin/bash
# `make fresh-test`: follows the README as a new user would, in clean chroots of Debian 12 and 13. mmdebstrap creates a chroot with only
# git, make and g++. The test clones the last commit, runs the two commands of the README, and builds the package with `make deb` and the
# wheel with `make wheel`. Two more clean chroots install one of them and run it as an ordinary user. Each step prints its seconds and ok
# or FAILED; the last line counts the steps.
#
# SUITES="bookworm trixie" sets the releases, FULL=1 adds `make check-reference`, and TORCH=1 adds
# `make test-torch` with the PyTorch of each release (1.13 and 2.6). Needs mmdebstrap, a network, and root or user
# namespaces. build-fresh/ is removed at the end, except for the logs of failed steps.
set -euo pipefail

# --- inside a chroot ---------------------------------------------------------------------------------------------------
# step NAME COMMAND...: runs the command, saves its output in logs/ and records the outcome.
step() {
  local name=$1 start=$SECONDS outcome=ok
  shift
  "$@" > "/root/logs/${name//[ \/]/-}.log" 2>&1 < /dev/null || outcome=FAILED
  printf '%5d s  %-6s  %s: %s\n' $((SECONDS - start)) $outcome "$suite" "$name"
  [ $outcome = ok ] || tail -n 25 "/root/logs/${name//[ \/]/-}.log" | sed 's/^/         | /'
  echo $outcome >> /root/logs/outcomes
}
install_packages() { apt-get install -y -q "$@"; }
lintian_finds_no_error() { install_packages --no-install-recommends lintian && lintian --fail-on error build/ranklab_*.deb; }
no_compiler_warnings() { ! grep 'warning:' /root/logs/make-*.log; }

newcomer() {
  cd /root
  git -c advice.detachedHead=false clone -q ranklab.bundle ranklab
  cd ranklab
  git -c advice.detachedHead=false checkout -q "$1"
  step "make reproduce" make reproduce
  step "make test" make test
  step "no compiler warnings" no_compiler_warnings
  [ -z "${FULL:-}" ] || step "make check-reference" make check-reference
  [ -z "${TORCH:-}" ] || step "make test-torch" make test-torch
  step "make deb" make deb
  step "lintian" lintian_finds_no_error
  step "make wheel" make wheel
  echo "         versions in Debian $(cat /etc/debian_version):"
  for package in g++ libarmadillo-dev libopenblas0-pthread nlohmann-json3-dev doctest-dev librsvg2-bin python3; do
    printf '         %-22s %s\n' $package "$(dpkg-query -W -f='${Version}' $package)"
  done
}

as_user() { runuser -u someone -- env HOME=/home/someone bash -euo pipefail -c "cd && $1"; }

package() {
  step "apt install ./ranklab_*.deb" install_packages /root/ranklab_*.deb
  install_packages --no-install-recommends man-db bash-completion > /dev/null 2>&1
  useradd -m -s /bin/bash someone
  # Many projects have their own folder named `experiments`; it must not hide the presets.
  step "ranklab run spectral-fig03" as_user 'mkdir experiments && echo "{}" > experiments/mine.json && ranklab run spectral-fig03 &&
    ranklab plot results/spectral-fig03.json && grep -q "</svg>" results/spectral-fig03.svg && ranklab --version'
  step "man ranklab" as_user 'man -P cat ranklab | grep -q one-step-compare'
  step "completion" as_user 'set +eu; source /usr/share/bash-completion/bash_completion; { _comp_load ranklab || _completion_loader ranklab; } 2>/dev/null
    complete -p ranklab && COMP_WORDS=(ranklab run spectral-fig0) COMP_CWORD=2 && _ranklab && [[ ${COMPREPLY[*]} == *spectral-fig03* ]]'
  step "the package has ranklab" as_user 'python3 -c "from importlib.util import find_spec; print(find_spec(\"ranklab\").origin)"'
}

# Nothing is installed but Python. TORCH=1 adds Debian's PyTorch, which the environment sees.
wheel() {
  useradd -m -s /bin/bash someone
  install -m 644 /root/ranklab-*.whl /tmp
  install_packages --no-install-recommends python3-venv ${TORCH:+python3-torch} > /dev/null 2>&1
  step "pip install ranklab-*.whl" as_user 'python3 -m venv --system-site-packages env && env/bin/pip install -q --no-index /tmp/ranklab-*.whl'
  step "the wheel's program" as_user 'source env/bin/activate && ranklab run spectral-fig03 &&
    ranklab plot results/spectral-fig03.json && grep -q "</svg>" results/spectral-fig03.svg && ranklab --version'
  step "libc and libm alone" as_user 'ldd env/bin/ranklab && ! ldd env/bin/ranklab | grep -vE "linux-vdso|libm\.so|libc\.so|ld-linux"'
  step "man page of the wheel" as_user 'grep -q "one.*step.*compare" env/share/man/man1/ranklab.1'
  [ -z "${TORCH:-}" ] || step "import ranklab" as_user 'env/bin/python -c "import ranklab, torch; ranklab.watch(torch.nn.Linear(2, 2)).close()"'
}

if [ $# -gt 0 ]; then
  suite=$2
  mkdir -p /root/logs
  # Python's process pools and OpenBLAS need shared memory in /dev/shm.
  mountpoint -q /dev/shm || mount -t tmpfs tmpfs /dev/shm
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q > /dev/null
  "$1" "${@:3}"
  exit 0
fi

# --- on this machine ---------------------------------------------------------------------------------------------------
cd "$(dirname "$0")/../.."
skip() { echo "fresh-test: skipped: $1" >&2; exit 77; }
command -v mmdebstrap > /dev/null || skip "mmdebstrap is not installed"
[ "$(id -u)" = 0 ] || unshare --user --map-root-user --mount true 2> /dev/null || skip "neither root nor user namespaces (kernel.unprivileged_userns_clone)"
[ -z "$(git status --porcelain)" ] || echo "fresh-test: tests the last commit, without the changes in this folder" >&2

work=$PWD/build-fresh
# Root's mounts are in a separate namespace: they vanish if a run is killed, and rm never follows one of them.
isolate=()
[ "$(id -u)" != 0 ] || isolate=(unshare --mount --propagation private --)
grep -q " $work/" /proc/self/mounts && { echo "fresh-test: something is mounted below $work; unmount it first" >&2; exit 1; }
rm -rf --one-file-system "$work"
mkdir -p "$work/tmp" "$work/logs"
commit=$(git rev-parse HEAD)
git bundle create -q "$work/ranklab.bundle" HEAD
passed=0 failed=0

# clean SUITE PACKAGES HOOK...: creates a chroot, runs the hooks in it and removes it.
clean() {
  local suite=$1 packages=$2 hooks=()
  shift 2
  for hook in "$@"; do hooks+=(--customize-hook="$hook"); done
  TMPDIR=$work/tmp "${isolate[@]}" mmdebstrap --quiet --variant=minbase --format=null --include="$packages" --customize-hook='upload tests/fresh/test.sh /root/test.sh' \
    "${hooks[@]}" "$suite" /dev/null
}
inside='env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 FULL='${FULL:-}' TORCH='${TORCH:-}' chroot "$1" bash /root/test.sh'

# count FOLDER: adds the outcomes of the steps whose logs are in FOLDER.
count() {
  [ -e "$1/outcomes" ] || return 0
  passed=$((passed + $(grep -c '^ok' "$1/outcomes" || true))) failed=$((failed + $(grep -c '^FAILED' "$1/outcomes" || true)))
}

for suite in ${SUITES:-bookworm trixie}; do
  for who in newcomer package wheel; do mkdir -p "$work/logs/$suite/$who"; done
  clean "$suite" git,make,g++,ca-certificates "upload $work/ranklab.bundle /root/ranklab.bundle" "$inside newcomer $suite $commit" \
    "sync-out /root/logs $work/logs/$suite/newcomer" "cp \"\$1\"/root/ranklab/build/ranklab_*.deb \"\$1\"/root/ranklab/build/ranklab-*.whl $work/logs/$suite/ || true" ||
    { echo "$suite: cannot create the chroot or clone into it"; failed=$((failed + 1)); }
  count "$work/logs/$suite/newcomer"
  for who in package wheel; do
    file=$(ls "$work/logs/$suite/"*.$([ $who = wheel ] && echo whl || echo deb) 2> /dev/null) ||
      { echo "$suite: no $who to install"; failed=$((failed + 1)); continue; }
    clean "$suite" ca-certificates "copy-in $file /root" "$inside $who $suite" "sync-out /root/logs $work/logs/$suite/$who" ||
      { echo "$suite: cannot create the chroot for the $who"; failed=$((failed + 1)); }
    count "$work/logs/$suite/$who"
  done
done
# The container file, with podman or docker if one of them answers.
container() {
  local engine=$1
  git -c advice.detachedHead=false clone -q "$work/ranklab.bundle" "$work/tmp/clone"
  git -C "$work/tmp/clone" -c advice.detachedHead=false checkout -q "$commit"
  "$engine" build -t ranklab-fresh-test -f "$work/tmp/clone/packaging/Containerfile" "$work/tmp/clone"
  "$engine" run --rm ranklab-fresh-test run spectral-fig03
  "$engine" rmi ranklab-fresh-test
}
for engine in podman docker ''; do
  [ -n "$engine" ] || { echo "         container: not tested (neither podman nor docker runs here)"; break; }
  "$engine" info > /dev/null 2>&1 && ! "$engine" info 2>&1 | grep -q '^Cannot connect' || continue
  if container $engine > "$work/logs/container.log" 2>&1 < /dev/null; then passed=$((passed + 1)) outcome=ok; else failed=$((failed + 1)) outcome=FAILED; fi
  printf '         %-6s  container (%s)\n' $outcome $engine
  break
done
if [ $failed = 0 ]; then rm -rf --one-file-system "$work"; else rm -rf --one-file-system "$work/tmp" "$work/ranklab.bundle"; echo "logs: $work/logs"; fi
echo "fresh-test: $passed passed, $failed failed"
[ $failed = 0 ]
