#!/bin/sh
# Makes the Debian package of a server and a loader: build.sh SERVER LOADER FOLDER. Prints the package's path.
#
# The binaries keep their symbols: reports of crashes name functions by them. The tools are those of dpkg-dev. Every file of the package has the time of the last commit, so that the same sources and the same
# binaries make the same package.
set -eu

server=$1
loader=$2
folder=$3
here=$(cd "$(dirname "$0")/.." && pwd)
root=$here/..
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
architecture=$(dpkg --print-architecture)

put() { install -D -m "$1" "$2" "$tree/root/$3"; }
put_compressed() {
    put 0644 "$1" "$2"
    gzip -9n "$tree/root/$2"
}

put 0755 "$server" usr/bin/larder-server
put 0755 "$loader" usr/bin/larder-load
put 0644 "$here/larder.conf" etc/larder/larder.conf
put 0644 "$here/systemd/larder-server.service" lib/systemd/system/larder-server.service
for program in larder-server larder-load; do
    put_compressed "$here/man/$program.1" "usr/share/man/man1/$program.1"
    put 0644 "$here/completions/$program.bash" "usr/share/bash-completion/completions/$program"
    put 0644 "$here/completions/_$program" "usr/share/zsh/vendor-completions/_$program"
    put 0644 "$here/completions/$program.fish" "usr/share/fish/vendor_completions.d/$program.fish"
done
put_compressed "$here/man/larder.conf.5" usr/share/man/man5/larder.conf.5
put 0644 "$here/grafana-dashboard.json" usr/share/doc/larder-server/grafana-dashboard.json
put 0644 "$here/debian/copyright" usr/share/doc/larder-server/copyright
put_compressed "$here/THIRD-PARTY-NOTICES.txt" usr/share/doc/larder-server/THIRD-PARTY-NOTICES.txt
put 0644 "$here/alerts.yml" usr/share/doc/larder-server/alerts.yml
put 0644 "$here/debian/lintian-overrides" usr/share/lintian/overrides/larder-server
put_compressed "$root/CHANGELOG.md" usr/share/doc/larder-server/NEWS.md
maintainer=$(sed -n 's/^Maintainer: //p' "$here/debian/control")
printf 'larder-server (%s) unstable; urgency=medium\n\n  * Release %s: see NEWS.md.gz.\n\n -- %s  %s\n' \
    "$version" "$version" "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")" > "$tree/changelog"
put_compressed "$tree/changelog" usr/share/doc/larder-server/changelog
mkdir -p "$tree/root/var/lib/larder" "$tree/root/DEBIAN"

# The shared libraries that the binaries need, and from which version on. The tool wants a source package to stand in.
mkdir -p "$tree/source/debian"
printf 'Source: larder\n\nPackage: larder-server\nArchitecture: any\n' > "$tree/source/debian/control"
depends=$(cd "$tree/source" && dpkg-shlibdeps -O "$tree/root/usr/bin/larder-server" "$tree/root/usr/bin/larder-load" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
# Static binaries need none.
[ -n "$depends" ] || depends="base-files"

for script in postinst prerm postrm; do
    install -m 0755 "$here/debian/$script" "$tree/root/DEBIAN/$script"
done
install -m 0644 "$here/debian/conffiles" "$tree/root/DEBIAN/conffiles"
size=$(du -k --apparent-size -s "$tree/root" | cut -f 1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$depends/" \
    "$here/debian/control" > "$tree/root/DEBIAN/control"
(cd "$tree/root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) > "$tree/md5sums"
install -m 0644 "$tree/md5sums" "$tree/root/DEBIAN/md5sums"

mkdir -p "$folder"
package=$folder/larder-server_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$tree/root" "$package" >/dev/null
echo "$package"
