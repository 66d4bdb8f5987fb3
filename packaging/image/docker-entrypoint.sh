#!/bin/sh
# The entry point of the compatible image. It behaves as those of Valkey's and Redis's images, so that their compose files,
# charts and commands work unchanged.
set -eu

# Options and configuration files are arguments of the server.
case "${1-}" in
    -* | *.conf) set -- valkey-server "$@" ;;
esac

is_server() {
    case "$1" in
        valkey-server | redis-server | larder-server) true ;;
        *) false ;;
    esac
}

# A server that starts as root takes over the data folder and continues as its own user. Links are given to the user
# themselves (-h): what they lead to may be a file of the system.
if is_server "${1-}" && [ "$(id -u)" = 0 ]; then
    find . ! -user valkey -exec chown -h valkey {} + \
        || echo "docker-entrypoint.sh: some files in $(pwd) stay with their owners" >&2
    exec setpriv --reuid=valkey --regid=valkey --clear-groups -- "$0" "$@"
fi

# Data files are for the server's user only, unless the container sets a umask of its own.
if [ "$(umask)" = 0022 ]; then
    umask 0077
fi

# The flags are split at blanks. A * in them (--bind *) is no pattern of file names.
if is_server "${1-}"; then
    set -f
    # shellcheck disable=SC2086
    set -- "$@" ${VALKEY_EXTRA_FLAGS-}
    set +f
fi
exec "$@"
