#!/bin/sh
# Prints the RUSTFLAGS that keep the paths of this machine out of a program: those of the sources and of cargo's registry.
#
#   RUSTFLAGS="$(packaging/remap.sh)" cargo build --release --target "$(rustc -vV | sed -n 's/^host: //p')" -p larder-server
#
# `remap.sh c` prints the same for the C compiler, for CFLAGS: aws-lc has the names of its sources in its errors.
#
# With --target the flags are for the program alone: build scripts, which find files by these paths, are built without them.
# Two builds of one commit with the same compiler are then the same, whatever the folder and the home. A path with a space in it cannot be
# given to RUSTFLAGS, so it stays as it is.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
case ${1:-} in
    c) flag=-ffile-prefix-map ;;
    *) flag=--remap-path-prefix ;;
esac
for pair in "$root=/larder" "$cargo_home=/cargo"; do
    case $pair in
        *" "*) echo "remap.sh: a path has a space and is not replaced: ${pair%=*}" >&2 ;;
        *) printf '%s ' "$flag=$pair" ;;
    esac
done
echo
