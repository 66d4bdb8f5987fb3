#!/bin/sh
# Builds the server with a profile of its own work: pgo.sh TARGET FOLDER, TARGET as cargo names it. Prints the server's path.
#
# A server that counts which branches it takes is built, larder-bench makes it work, and the compiler lays out the final one by those counts: what is taken
# often is inlined and stands together, the rest stands aside. The profile belongs to one version of the compiler, so none is kept.
# Needs llvm-profdata of the same toolchain, which rustup adds, and openssl for certificates. docs/design/dispatch.md has what is gained.
# With PGO=no the server is built once, without a profile, at the same path: in a fraction of the time.
set -eu

target=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# No path of this machine goes into the program.
rust_flags="${RUSTFLAGS:-} $(packaging/remap.sh)"
c_flags="${CFLAGS:-} $(packaging/remap.sh c)"

# Flags for --target alone: what the build itself runs is built without them. build FOLDER FLAGS.
build() {
    RUSTFLAGS="$rust_flags $2" CFLAGS=$c_flags \
        cargo build --release --target "$target" --target-dir "$folder/$1" -p larder-server >&2
}

if [ "${PGO:-yes}" = no ]; then
    build optimized ""
    echo "$folder/optimized/$target/release/larder-server"
    exit
fi

command -v openssl > /dev/null || { echo "openssl is missing: install openssl" >&2; exit 1; }
host=$(rustc -vV | sed -n 's/^host: //p')
tools=$(rustc --print sysroot)/lib/rustlib/$host/bin
[ -x "$tools/llvm-profdata" ] || rustup component add llvm-tools >&2 || {
    echo "llvm-profdata is missing: add llvm-tools to the toolchain, or build without a profile with PGO=no" >&2
    exit 1
}

cargo build --release -p larder-bench >&2
bench=${CARGO_TARGET_DIR:-target}/release/larder-bench

# What takes twice as long to build, and without a profile makes commands slower: the whole program as one unit.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1

# Both builds are alike but for these flags: names of functions in a profile depend on the target and on how the code is divided into units.
build counting "-Cprofile-generate=$folder/counts"

# What servers counted is written when they end. load/* is not among it: it needs redis-cli.
rm -rf "$folder/counts"
work() { "$bench" --larder "$folder/counting/$target/release/larder-server" --peers none "$@" >&2; }
work --only 'rows/*' --scale 0.2
work --only 'rows/*' --scale 0.1 --threads 2
work --only 'bits/*,ends/*,geo/*,hash/*,persist/*,pf/*,pubsub/*,script/*,set/*,stream/*,tls/*,zset/*' --scale 0.05 --threads 2

"$tools/llvm-profdata" merge -o "$folder/larder.profdata" "$folder/counts"
build optimized "-Cprofile-use=$folder/larder.profdata"
echo "$folder/optimized/$target/release/larder-server"
