#!/bin/sh
# Run a command as on a host of its own: it sees the folders it is given, and neither the project nor /tmp.
# Usage: unshare --mount --propagation private tests/cluster/in_a_namespace.sh PROJECT FOLDER... -- COMMAND...
set -eu
project=$1
shift
kept=/mnt
mount -t tmpfs tmpfs "$kept"
number=0
folders=
while [ "$1" != -- ]; do
  number=$((number + 1))
  mkdir "$kept/$number"
  mount --bind "$1" "$kept/$number"
  folders="$folders $1"
  shift
done
shift
mount -t tmpfs tmpfs /tmp
case $project in
/tmp/*) ;; # hidden already
*) mount -t tmpfs tmpfs "$project" ;;
esac
number=0
for folder in $folders; do
  number=$((number + 1))
  mkdir -p "$folder"
  mount --bind "$kept/$number" "$folder"
  umount "$kept/$number"
done
umount "$kept"
cd /
exec "$@"
