#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make check-release`: check-release.sh TARBALL [WORK] makes the release twice from the tarball, in folders of different
# lengths, in different locales and time zones, under different umasks, as root and as another user if it runs as root, a
# day apart if there is faketime; and compares what the two made, and their tarballs with the first. RELEASE_WHEEL and
# RELEASE_DEBS (yes, no; default yes) say what else than the tarball is made.
set -eu
tarball=$(realpath "$1")
: "${RELEASE_WHEEL=yes}" "${RELEASE_DEBS=yes}" "${PYTHON=python3}"
name=$(basename "$tarball" .tar.gz)
work=${2-}
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
fi
mkdir -p "$work"
chmod 755 "$work"
: "${SOURCE_DATE_EPOCH:=$(tar -tvzf "$tarball" --full-time --utc | awk 'NR == 1 { print $4, $5 }' | date -u -f - +%s)}"
export SOURCE_DATE_EPOCH PYTHON
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

# made FOLDER COMMAND…: makes the release in FOLDER; COMMAND runs a program as it is run there.
made() {
    folder=$1
    shift
    mkdir -p "$folder/home" "$folder/tmp" "$folder/build"
    tar -xzf "$tarball" -C "$folder"
    [ "$#" -eq 0 ] || [ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$folder"
    # shellcheck disable=SC2016 # the inner shell expands it
    (cd "$folder/build" && env HOME="$folder/home" TMPDIR="$folder/tmp" "$@" sh -c '
        "../$1/configure" -q --enable-cuda-kernels=no >configure.out 2>&1 &&
            make -s release RELEASE_WHEEL="$2" RELEASE_DEBS="$3" DEB_BUILD_OPTIONS=nocheck' \
        sh "$name" "$RELEASE_WHEEL" "$RELEASE_DEBS") >"$folder/made.out" 2>&1 || {
        tail -n 40 "$folder/made.out" >&2
        echo "check-release: the release in $folder failed" >&2
        exit 1
    }
}

(umask 022 && LC_ALL=C TZ=UTC made "$work/one")
other='setpriv --reuid=65534 --regid=65534 --clear-groups'
[ "$(id -u)" -eq 0 ] || other=
later=
! command -v faketime >/dev/null 2>&1 || later='faketime -f +1d'
# shellcheck disable=SC2086 # words
(umask 002 && LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 TZ=Pacific/Apia made "$work/another/folder" $other env $later)

for file in "$work/one/build/release"/*; do
    case $file in
    *.buildinfo | *.changes) continue ;; # these name the time and the machine of the build
    esac
    cmp "$file" "$work/another/folder/build/release/$(basename "$file")"
done
cmp "$tarball" "$work/one/build/release/$name.tar.gz"
cat "$work/one/build/release/SHA256SUMS"
echo "check-release: $(wc -l <"$work/one/build/release/SHA256SUMS") files, the same bytes twice"
