#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make check-debs`: check-debs.sh FOLDER, as root. The packages of `make debs` in FOLDER: lintian reports no error and no
# warning; in a root that debootstrap makes (or in ROOT, which one has made, with gcc, g++, cmake, make and pkg-config), they are
# installed, their autopkgtests pass, an older version is upgraded to them, and purging them leaves no file.
set -eu
folder=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
: "${SUITE=bookworm}"

die() {
    echo "check-debs: $*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || die 'it takes root'
[ -n "$(find "$folder" -name '*.deb' | head -n 1)" ] || die "$folder has no packages (make debs)"
lintian --allow-root --tag-display-limit 0 --fail-on error,warning "$folder"/*.dsc "$folder"/*.deb || die 'lintian complains'

work=$(mktemp -d)
root=${ROOT-$work/root}
finish() {
    umount "$root/proc" 2>/dev/null || :
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

install_all() {
    inside sh -c "apt-get install -y --no-install-recommends /debs/$1/*.deb >/tmp/apt.out 2>&1 || { cat /tmp/apt.out; exit 1; }"
}

purge_all() {
    # shellcheck disable=SC2016 # the shell inside expands it
    inside sh -c 'apt-get purge -y $(dpkg-query -W -f "\${Package}\n" | grep -E "^(lib|python3-)?ferry") >/tmp/apt.out 2>&1 ||
        { cat /tmp/apt.out; exit 1; }'
    left=$(inside find / -xdev -path '*ferry*' -not -path '/debs*' -not -path '/tests*' -not -path '/var/lib/apt/*' \
        -not -path '/var/cache/*' -not -path '/proc/*' -not -path '/tmp/*')
    [ -z "$left" ] || die "purging leaves: $left"
}

if [ -z "${ROOT-}" ]; then
    debootstrap --variant=minbase --include=gcc,g++,libc6-dev,cmake,make,pkg-config "$SUITE" "$root" >"$work/log" 2>&1 ||
        die "debootstrap: $(tail -n 5 "$work/log")"
fi
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
rm -rf "$root/debs" "$root/tests"
mkdir -p "$root/debs/new" "$root/debs/old" "$root/tests/debian"
cp "$folder"/*.deb "$root/debs/new/"
rm -f "$root"/debs/new/*-dbgsym_*
cp -r "$source/debian/tests" "$root/tests/debian/"
mkdir "$root/tests/tests"
cp -r "$source/tests/outside" "$root/tests/tests/"

# The same packages under an older version, to be upgraded from.
for deb in "$root"/debs/new/*.deb; do
    dpkg-deb -R "$deb" "$work/unpacked"
    sed -i -E 's/^Version: .*/Version: 0.1.9-1/; /^(Depends|Breaks)/ { s/(ferry[a-z0-9-]*) \([>=]+ [^)]*\)/\1/g }' \
        "$work/unpacked/DEBIAN/control"
    dpkg-deb -Zgzip --root-owner-group -b "$work/unpacked" "$root/debs/old/$(basename "$deb")" >"$work/log"
    rm -rf "$work/unpacked"
done

install_all new
for test in "$source"/debian/tests/*; do
    name=$(basename "$test")
    [ "$name" != control ] || continue
    inside sh -c "cd /tests && mkdir -p /tmp/$name && AUTOPKGTEST_TMP=/tmp/$name debian/tests/$name" >"$work/log" 2>&1 || {
        cat "$work/log"
        die "the autopkgtest $name fails"
    }
    echo "check-debs: autopkgtest $name passes"
done
purge_all
echo 'check-debs: purging leaves nothing'

install_all old
echo ';edited' >>"$root/etc/ferry/plugins.conf"
install_all new
# shellcheck disable=SC2016 # dpkg-query expands it
! inside dpkg-query -W -f '${Package} ${Version}\n' | grep -E '^(lib|python3-)?ferry.* 0\.1\.9-1$' ||
    die 'a package was not upgraded'
grep -q '^;edited' "$root/etc/ferry/plugins.conf" || die 'the upgrade lost an edited plugins.conf'
inside env FERRY_BACKEND=cpu ferry devices
purge_all
echo 'check-debs: upgraded with its edited plugins.conf, and purged'
