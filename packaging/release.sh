#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make release`: the tarball, its SBOM and the sums, in FOLDER: release.sh SOURCE VERSION FOLDER [WHEEL…], in a build folder;
# with RELEASE_DEBS=yes Debian's packages too, built from the tarball.
# The same sources make the same bytes, in any folder, by any user, at any time: SOURCE_DATE_EPOCH is the time of the last
# commit, or, without git, of NEWS. SIGN_KEY names a key of gpg's, which then signs the sums.
set -eu
source=$1 version=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
shift 3
umask 022
LC_ALL=C TZ=UTC
: "${PYTHON:=python3}" "${MAKE:=make}"
: "${SOURCE_DATE_EPOCH:=$(git -C "$source" log -1 --format=%ct 2>/dev/null || date -r "$source/NEWS" +%s)}"
TAR_OPTIONS="--sort=name --mtime=@$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX --format=ustar"
export LC_ALL TZ SOURCE_DATE_EPOCH TAR_OPTIONS

$MAKE -s dist-gzip GZIP_ENV='--best -n' distdir="ferry-$version"
mv "ferry-$version.tar.gz" "$out/"
for wheel; do
    [ "$wheel" -ef "$out/$(basename "$wheel")" ] || cp "$wheel" "$out/"
done
rm -f "$out"/*.deb "$out"/*.dsc "$out"/*.debian.tar.xz
[ "${RELEASE_DEBS-no}" != yes ] || sh "$source/packaging/debs.sh" "$out/ferry-$version.tar.gz" "$out"
cd "$out"
sbom=ferry-$version.spdx.json
# shellcheck disable=SC2046 # names without blanks
set -- "ferry-$version.tar.gz" $(for wheel; do basename "$wheel"; done)
for file in *.dsc *.debian.tar.xz *.deb; do
    case $file in *'*'* | *-dbgsym_*) ;; *) set -- "$@" "$file" ;; esac
done
"$PYTHON" "$source/packaging/sbom.py" "$version" "$@" >"$sbom"
if command -v pyspdxtools >/dev/null 2>&1; then
    pyspdxtools -i "$sbom"
else
    echo 'release: the SBOM was not validated: there is no pyspdxtools (PyPI: spdx-tools)' >&2
fi
sha256sum "$@" "$sbom" >SHA256SUMS
[ -z "${SIGN_KEY-}" ] || gpg --batch --yes --local-user "$SIGN_KEY" --armor --detach-sign SHA256SUMS
cat SHA256SUMS
