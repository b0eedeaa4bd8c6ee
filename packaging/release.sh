#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make release`: the tarball, its SBOM and the sums, in FOLDER: release.sh SOURCE VERSION FOLDER [WHEEL…], in a build folder.
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
cd "$out"
# shellcheck disable=SC2046 # names without blanks
"$PYTHON" "$source/packaging/sbom.py" "$version" "ferry-$version.tar.gz" $(for wheel; do basename "$wheel"; done) \
    >"ferry-$version.spdx.json"
if command -v pyspdxtools >/dev/null 2>&1; then
    pyspdxtools -i "ferry-$version.spdx.json"
else
    echo 'release: the SBOM was not validated: there is no pyspdxtools (PyPI: spdx-tools)' >&2
fi
# shellcheck disable=SC2046
sha256sum "ferry-$version.tar.gz" "ferry-$version.spdx.json" $(for wheel; do basename "$wheel"; done) >SHA256SUMS
[ -z "${SIGN_KEY-}" ] || gpg --batch --yes --local-user "$SIGN_KEY" --armor --detach-sign SHA256SUMS
cat SHA256SUMS
