#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds a plugin of the museum again: build.sh COMMIT FOLDER, in a clone with ferry's history. The
# plugin template of that commit is compiled with the headers of that commit, stripped, and written
# to FOLDER/ferry_acme.so. README.md lists the commits.
set -eu
[ $# -eq 2 ] || {
    sed -n '3,4s/^# //p' "$0" >&2
    exit 2
}
top=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$top" archive "$1" include examples/plugin-template | tar -x -C "$work"
mkdir -p "$2"
out=$(cd "$2" && pwd)/ferry_acme.so
cd "$work/examples/plugin-template"
${CC:-gcc} -std=c11 -O2 -fPIC -shared -fvisibility=hidden -I"$work/include" -Wl,-z,defs -Wl,--build-id=none \
    acme.c acme_driver.c -o "$out" -lpthread
strip --strip-unneeded "$out"
