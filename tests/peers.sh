#!/usr/bin/env bash
# tests/peers.sh [FOLDER [SUITE]]: fetches the servers that Larder is compared with into FOLDER (default: target/peers):
# Valkey and Redis 8 as Debian's SUITE (default: sid) has them. Nothing is installed. Each program runs with its own loader and
# its own libraries, so the release of the system does not matter; the system's redis-server stays Redis 7.0.
#
# Afterwards FOLDER/bin holds valkey-server, valkey-cli, valkey-benchmark, valkey-sentinel, redis8-server, redis8-cli,
# redis8-benchmark and redis8-sentinel. A second run does nothing. Needs a Debian system with apt-get and dpkg; root is not needed.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$here/target/peers}
suite=${2:-sid}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
[ -e "$folder/ready" ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{sources,lists/partial,archives/partial,packages} "$folder/root" "$folder/bin"

# The first mirror that the system itself uses, asked for another suite. Debian has its sources in one of two formats.
if [ -e /etc/apt/sources.list.d/debian.sources ]; then
  uri=$(awk '/^URIs:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources)
  keys=$(awk '/^Signed-By:/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources)
else
  uri=$(awk '$1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' /etc/apt/sources.list)
  keys=
fi
{
  echo "Types: deb"
  echo "URIs: $uri"
  echo "Suites: $suite"
  echo "Components: main"
  [ -z "$keys" ] || echo "Signed-By: $keys"
} > "$work/sources/peers.sources"

apt_in_work() {
  apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources" \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work" -o Dir::Cache::Archives="$work/archives" \
    -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" "$@"
}

apt_in_work update
(cd "$work/packages" && apt_in_work download \
  valkey-server valkey-tools valkey-sentinel redis-server redis-tools redis-sentinel \
  libc6 libgcc-s1 libstdc++6 libatomic1 libjemalloc2 libssl3t64 libsystemd0 libcap2 liblzf1 liblz4-1 libzstd1 zlib1g \
  liblzma5 libgcrypt20 libgpg-error0 liblua5.1-0 libhiredis1.1.0)
for package in "$work"/packages/*.deb; do
  dpkg -x "$package" "$folder/root"
done

libraries=$(dirname "$(find "$folder/root" -name 'libc.so.6' | head -n 1)")
loader=$(find "$libraries" -maxdepth 1 -name 'ld-linux*.so*' | head -n 1)

# A server that is called by the name of its sentinel is a sentinel, so the name of the program is handed on.
wrapper() { # NAME PROGRAM
  [ -e "$folder/root/usr/bin/$2" ] || return 0
  printf '#!/bin/sh\nexec "%s" --argv0 "%s" --library-path "%s" "%s" "$@"\n' \
    "$loader" "$2" "$libraries" "$folder/root/usr/bin/$2" > "$folder/bin/$1"
  chmod +x "$folder/bin/$1"
}
for tool in server cli benchmark sentinel check-rdb check-aof; do
  wrapper "valkey-$tool" "valkey-$tool"
  wrapper "redis8-$tool" "redis-$tool"
done
"$folder/bin/valkey-server" --version
"$folder/bin/redis8-server" --version
touch "$folder/ready"
