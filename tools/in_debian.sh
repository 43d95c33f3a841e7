#!/bin/sh
# Runs a command on the committed state of this checkout in a Debian of some suite (trixie, sid), for compilers, C
# libraries and Pythons that this machine does not have. Needs root. The system is made once, in build/debian/SUITE, and
# keeps its build folders. usage: in_debian.sh SUITE COMMAND..., for example: in_debian.sh sid make test
set -eu
suite=$1
shift
here=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
root=$here/build/debian/$suite
if ! test -e "$root/made"; then
  command -v debootstrap >/dev/null || apt-get install -y -q debootstrap
  mkdir -p "$root"
  debootstrap --variant=minbase "$suite" "$root" http://deb.debian.org/debian
  cp -r /etc/ssl/certs "$root/etc/ssl"
  cp /etc/resolv.conf /etc/hosts "$root/etc"
  chroot "$root" apt-get install -y -q --no-install-recommends g++ gcc git make python3-dev python3-venv
  touch "$root/made"
fi
test -e "$root/project" || git init -q "$root/project"
git -C "$root/project" fetch -q "$here" HEAD
git -C "$root/project" checkout -q --detach FETCH_HEAD
# The mounts are in a namespace of their own and end with the command.
exec unshare --mount sh -c 'root=$1; shift
  for place in proc dev dev/pts dev/shm; do mount --bind "/$place" "$root/$place" || exit 1; done
  exec chroot "$root" env HOME=/root sh -c "cd /project && exec \"\$@\"" sh "$@"' sh "$root" "$@"
