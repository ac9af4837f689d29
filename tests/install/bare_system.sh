#!/usr/bin/env bash
# Proves that ./run needs nothing: makes a minimal Debian (or Ubuntu) tree with debootstrap, copies the committed source into it and runs
# there, as the README says, ./run bench, ./run install (before anything else has built what it installs) and ./run test; then all of
# them again, which must build nothing. Takes root, debootstrap and a network; not part of ctest.
#
#   tests/install/bare_system.sh [--suite bookworm] [--cuda DIR] [--env NAME=VALUE] [--user] [--keep] DIR [RUN-COMMAND...]
#
#   --cuda DIR   a CUDA toolkit of this machine, shown in the tree as /usr/local/cuda with its nvcc on the PATH.
#                Without it ./run has to fetch one.
#   --env NAME=VALUE
#                a variable for the tree, which sees none of this machine's: a proxy, say; repeatable
#   --user       run as an ordinary user without sudo: ./run has to stop and print the apt-get command
#   DIR          the tree; made if it does not exist (a used one proves less)
#   RUN-COMMAND  what to run instead, each as one word, e.g. 'bench --no-cuda' 'test --quick'
set -euo pipefail

suite=bookworm cuda="" user=false keep=false settings=()
while [[ ${1:-} == --* ]]; do
  case $1 in
    --suite) suite=$2 && shift ;;
    --cuda) cuda=$2 && shift ;;
    --env) settings+=("$2") && shift ;;
    --user) user=true ;;
    --keep) keep=true ;;
    *) echo "bare_system.sh: unknown option $1" >&2 && exit 2 ;;
  esac
  shift
done
tree=${1:?the folder of the tree is missing}
shift
commands=("$@")
((${#commands[@]})) || commands=(bench 'install --prefix /opt/xgemm' test)
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

[[ -e $tree/etc/debian_version ]] || debootstrap --variant=minbase "$suite" "$tree"
tree=$(cd "$tree" && pwd)

cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb "${settings[@]}")

mounted=()
finish() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}" 2>/dev/null || umount -l "${mounted[i]}" || true; done
  if ! $keep; then rm -rf --one-file-system "$tree/src/xgemm"; fi
}
trap finish EXIT
mount_at() { # PLACE MOUNT-ARGUMENT...
  local place=$tree$1
  shift
  mkdir -p "$place"
  mount "$@" "$place"
  mounted+=("$place")
}
mount_at /proc -t proc proc
mount_at /dev --bind /dev # not --rbind: undone by one umount that cannot spread to this machine's own /dev
mount_at /dev/shm -t tmpfs tmpfs
mount_at /dev/pts --bind /dev/pts
if [[ -n $cuda ]]; then
  mount_at /usr/local/cuda --bind "$(readlink -f "$cuda")"
  environment[0]=PATH=/usr/local/cuda/bin:${environment[0]#PATH=}
fi

rm -rf "$tree/src/xgemm"
mkdir -p "$tree/src/xgemm"
git -C "$source_dir" archive HEAD | tar -x -C "$tree/src/xgemm"

enter=(chroot "$tree" env -i "${environment[@]}")
if $user; then
  chroot "$tree" useradd -m somebody 2>/dev/null || true
  chroot "$tree" chown -R somebody /src/xgemm
  enter=(chroot "$tree" su somebody -s /bin/bash -c 'cd /src/xgemm && ./run bench')
  if "${enter[@]}"; then
    echo "FAILED: ./run bench went on without its packages" >&2
    exit 1
  fi
  echo "PASSED: stopped with a message"
  exit 0
fi

in_tree() { "${enter[@]}" bash -c "cd /src/xgemm && ./run $1 </dev/null"; }
for command in "${commands[@]}"; do
  echo "######## ./run $command"
  begin=$SECONDS
  in_tree "$command"
  echo "######## ./run $command: $((SECONDS - begin)) s"
done
for command in "${commands[@]}"; do
  echo "######## again: ./run $command"
  begin=$SECONDS
  in_tree "$command" | tee "$tree/tmp/again.log"
  echo "######## again: ./run $command: $((SECONDS - begin)) s"
  # (No package has a slash in its name, as the folder has that ./run install says it installs into.)
  if grep -q -e '==> Installing [^/]*$' -e '==> Fetching' -e '==> Configuring' -e 'Building \(C\|CXX\|CUDA\) object' -e 'Linking ' "$tree/tmp/again.log"; then
    echo "FAILED: the second ./run $command did something again" >&2
    exit 1
  fi
done
echo "PASSED"
