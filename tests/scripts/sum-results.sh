#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Adds up the results of tests: sum-results.sh PLACE… prints "P passed, F failed, S skipped". A
# place is a build folder after `make check`, or a file with the output of a script test. Each
# program reports one line per suite, some with their seconds; a program that failed without
# reporting a failure (it crashed or hung) counts as one failure.
set -u

# suites FILE: P F S of each suite in the file.
suites() {
    sed -n 's/^ferry-test: .*: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped\(, [0-9.]* s\)\{0,1\}$/\1 \2 \3/p' \
        "$1"
}

# program TRS: P F S of one test program.
program() {
    verdict=$(sed -n 's/^:test-result: *//p' "$1")
    log=${1%.trs}.log
    [ -f "$log" ] || log=/dev/null
    suites "$log" | awk -v verdict="$verdict" '
        { p += $1; f += $2; s += $3 }
        END {
            if (NR == 0 && verdict == "PASS") p = 1
            if (NR == 0 && verdict == "SKIP") s = 1
            if (f + 0 == 0 && verdict != "PASS" && verdict != "SKIP") f = 1
            print p + 0, f + 0, s + 0
        }'
}

for place in "$@"; do
    if [ -d "$place" ]; then
        find "$place" -name '*.trs' | while read -r trs; do program "$trs"; done
    elif [ -f "$place" ]; then
        suites "$place"
    fi
done | awk '{ p += $1; f += $2; s += $3 }
    END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
