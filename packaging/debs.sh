#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make debs` builds Debian's source and binary packages of a release: debs.sh TARBALL FOLDER. It uses a new folder below
# $TMPDIR, the tarball, and the debian/ in it. DEB_BUILD_PROFILES=pkg.ferry.cuda adds the CUDA plugin.
set -eu
tarball=$(realpath "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
name=$(basename "$tarball" .tar.gz)
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Paths of an outer make or build are not those of the packages.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES TAR_OPTIONS CC CXX CFLAGS CPPFLAGS LDFLAGS DESTDIR PYTHONPATH
unset FERRY_PLUGIN_PATH FERRY_LIBRARY_PATH FERRY_CONF FERRY_BACKEND LD_LIBRARY_PATH
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

cp "$tarball" "$work/ferry_${name#ferry-}.orig.tar.gz"
mkdir "$work/$name"
tar -xzf "$tarball" -C "$work/$name" --strip-components=1
cd "$work/$name"
# shellcheck disable=SC2086 # options
dpkg-buildpackage -us -uc ${DEBS_OPTIONS-} >"$work/build.log" 2>&1 || {
    tail -n 60 "$work/build.log" >&2
    cp "$work/build.log" "$out/debs.log"
    echo "debs: dpkg-buildpackage failed; $out/debs.log has all of its output" >&2
    exit 1
}
cd "$work"
cp ferry_* ./*.deb "$out/"
