#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# No line of a C, header or kernel file exceeds 100 columns, except those that prose.todo names.
# First a made-up file shows that such a line is found.
set -u
: "${FERRY_TEST_SRCDIR:?}"
: "${AWK:=awk}"
scripts=$FERRY_TEST_SRCDIR/tests/scripts
# shellcheck source=tests/scripts/lib.sh
. "$scripts/lib.sh"
# shellcheck source=tests/scripts/text.sh
. "$scripts/text.sh"

# wide FILE…: prints one line per line that is too long. Continuation bytes of UTF-8 do not count.
# shellcheck disable=SC2016
wide() {
    LC_ALL=C "$AWK" '{ line = $0; gsub(/[\200-\277]/, "", line) }
        length(line) > 100 { print FILENAME ":" FNR ": " length(line) " columns"; found = 1 }
        END { exit found }' "$@"
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '%0100d\n%099dé\n' 0 0 >"$scratch/fits.c"
printf '%0101d\n' 0 >"$scratch/wide.c"
check a_line_of_100_columns_fits wide "$scratch/fits.c"
if wide "$scratch/wide.c" >/dev/null; then
    fail a_line_of_101_columns_is_found
else
    pass a_line_of_101_columns_is_found
fi

cd "$FERRY_TEST_SRCDIR" || exit 1
# shellcheck disable=SC2046
check no_line_is_wider_than_100_columns wide $(files_done columns -name '*.[chk]' -o -name '*.[ch]pp')
finish columns
