#!/bin/sh
# Prepares the root file system of the compatible image: install.sh [ROOT]. ROOT is a Debian with valkey-tools, the
# programs larder-server and larder-load in usr/local/bin, and the user valkey.
#
# The server's names are links to larder-server. Command line client, benchmark, check tools and Sentinel are those of
# Debian's Valkey; they decide by the name that they are called by.
set -eu

root=${1-}
bin=$root/usr/local/bin
here=$(cd "$(dirname "$0")" && pwd)

[ -x "$bin/larder-server" ] || { echo "$bin/larder-server is missing" >&2; exit 1; }
for name in valkey redis; do
    ln -sf larder-server "$bin/$name-server"
    for tool in cli benchmark check-rdb check-aof; do
        ln -sf "/usr/bin/valkey-$tool" "$bin/$name-$tool"
    done
    # One program in Debian: valkey-sentinel is valkey-check-rdb by another name.
    ln -sf /usr/bin/valkey-check-rdb "$bin/$name-sentinel"
done
install -m 0755 "$here/docker-entrypoint.sh" "$bin/docker-entrypoint.sh"
mkdir -p "$root/data"
