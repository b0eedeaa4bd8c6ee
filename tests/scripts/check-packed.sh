#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make dist` packs each file that git keeps, except those that only a checkout needs. First a made-up list shows
# that a missing file is found. In a tarball there is nothing to compare with.
set -u
: "${FERRY_TEST_SRCDIR:?}"
: "${FERRY_TEST_BUILDDIR:?}"
: "${AWK:=awk}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# unpacked PACKED KEPT: the lines of KEPT, a list of files, that are neither a line of PACKED nor
# below one. The exit status is 1 if there are any.
# shellcheck disable=SC2016
unpacked() {
    "$AWK" 'NR == FNR { packed[$0] = 1; next }
        { path = $0; found = path in packed
          while (!found && sub(/\/[^\/]*$/, "", path)) found = path in packed
          if (!found) { print "make dist does not pack " $0; missing = 1 } }
        END { exit missing }' "$1" "$2"
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '%s\n' README.md doc/site >"$scratch/packed"
printf '%s\n' README.md doc/site/a/b.md >"$scratch/kept"
check files_and_folders_are_found unpacked "$scratch/packed" "$scratch/kept"
echo doc/new.md >>"$scratch/kept"
if unpacked "$scratch/packed" "$scratch/kept" >/dev/null; then
    fail a_missing_file_is_found
else
    pass a_missing_file_is_found
fi

cd "$FERRY_TEST_SRCDIR" || exit 1
if [ ! -e .git ] || ! git ls-files -- . ':!.ci' ':!.gitignore' ':!.shellcheckrc' >"$scratch/kept"; then
    skip every_file_of_git_is_packed 'not a checkout'
    finish packed
fi
(cd "$FERRY_TEST_BUILDDIR" && env -u MAKEFLAGS -u MAKELEVEL make -s print-packed) >"$scratch/packed"
check every_file_of_git_is_packed unpacked "$scratch/packed" "$scratch/kept"
finish packed
