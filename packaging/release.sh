#!/bin/sh
# Gathers what a release offers: release.sh SERVER LOADER STATIC_SERVER WHEELS FOLDER. Prints the folder.
#
# SERVER and LOADER go into the Debian package, STATIC_SERVER into an archive for every Linux, and the wheels of WHEELS are
# copied. Beside them are the notices, a bill of materials of each package, the manual pages, the completions, and the
# checksums of all that. The same commit and the same binaries make the same files, and the same compiler makes the same binaries,
# whatever the folder: docs/design/packages.md.
set -eu

server=$1
loader=$2
static=$3
wheels=$4
folder=$5
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
machine=$(uname -m)

rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# A path of this machine would make every build another one, and tells who has built it.
has_path() { grep -qaF -e "$(cd "$root" && pwd)" -e "${CARGO_HOME:-$HOME/.cargo}/"; }
for program in "$server" "$loader" "$static"; do
    ! has_path < "$program" || { echo "release.sh: $program contains a path of this machine" >&2; exit 1; }
done
content='import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
for name in wheel.namelist():
    sys.stdout.buffer.write(wheel.read(name))'
for wheel in "$wheels"/larder-*.whl; do
    ! python3 -c "$content" "$wheel" 2> /dev/null | has_path || { echo "release.sh: $wheel contains a path of this machine" >&2; exit 1; }
done

# pack NAME: the folder of that name in the tree as an archive.
pack() {
    tar --directory "$tree" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --create "$1" \
        | gzip -9n > "$folder/$1.tar.gz"
}

name=larder-$version-$machine-linux-musl
mkdir -p "$tree/$name"
install -m 0755 "$static" "$tree/$name/larder-server"
install -m 0644 "$root/LICENSE" "$here/THIRD-PARTY-NOTICES.txt" "$root/docs/larder.conf" "$here/systemd/larder-server.service" \
    "$here/alerts.yml" "$here/grafana-dashboard.json" "$tree/$name"
cp -r "$here/man" "$here/completions" "$tree/$name"
pack "$name"

name=larder-$version-man-and-completions
mkdir -p "$tree/$name"
cp -r "$here/man" "$here/completions" "$tree/$name"
pack "$name"

"$here/debian/build.sh" "$server" "$loader" "$folder" > /dev/null
cp "$wheels"/larder-*.whl "$folder"
cp "$here/THIRD-PARTY-NOTICES.txt" "$root/LICENSE" "$folder"
for package in larder-server larder-load larder-python; do
    "$here/supply_chain.py" sbom "$package" "$folder/$package-$version.cdx.json"
done
(cd "$folder" && sha256sum -- * > "$tree/SHA256SUMS" && mv "$tree/SHA256SUMS" .)
echo "$folder"
