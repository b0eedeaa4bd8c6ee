#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# No file includes what stands above its room, belongs to another house, or leads back to itself;
# and the files of the core, of io and of each plugin, which may share a header, call each other
# without a circle. The order is rooms.list's. First a made-up tree shows that each of these is found. Each
# room says what it is.
set -u
: "${FERRY_TEST_SRCDIR:?}"
: "${AWK:=awk}" "${NM:=nm}"
scripts=$FERRY_TEST_SRCDIR/tests/scripts
# shellcheck source=tests/scripts/lib.sh
. "$scripts/lib.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# look TREE LIST: a line for each include that may not be; fails if there is one.
look() {
    (cd "$1" && find backends bench core examples include io kernels mpi net op solver tests/conform \
        tests/unit tools -type f \( -name '*.[chk]' -o -name '*.c[lcu]' -o -name '*.inc' \) 2>/dev/null | sort) \
        >"$scratch/names"
    [ -s "$scratch/names" ] || {
        echo "$1: no files"
        return 1
    }
    "$AWK" -v tree="$1" -f "$scripts/rooms.awk" "$2" "$scratch/names" |
        "$AWK" -f "$scripts/circles.awk" | sed 's/^! //' >"$scratch/found"
    cat "$scratch/found"
    [ ! -s "$scratch/found" ]
}

# shellcheck disable=SC2016
symbols='{ of = $0; sub(/:.*/, "", of); sub(/\.libs\/.*_la-/, "", of); sub(/^[^:]*:/, ""); print $(NF - 1), $NF, of }'
# shellcheck disable=SC2016
users='NR == FNR { if ($1 ~ /^[TDBRVW]$/) of[$2] = $3; next }
       $1 == "U" && $2 in of { print $3, of[$2], $2 }'

# calls OBJECT…: a line for each circle of calls among them.
calls() {
    # shellcheck disable=SC2086
    $NM -A "$@" | "$AWK" "$symbols" >"$scratch/symbols"
    "$AWK" "$users" "$scratch/symbols" "$scratch/symbols" |
        "$AWK" -f "$scripts/circles.awk" | sed 's/^! //' >"$scratch/found"
    cat "$scratch/found"
    [ ! -s "$scratch/found" ]
}

# ---- a made-up tree ----

# put PATH LINE…: a file of those lines.
put() {
    mkdir -p "$scratch/tree/$(dirname "$1")"
    put_path=$1
    shift
    printf '%s\n' "$@" >"$scratch/tree/$put_path"
}

build_tree() {
    rm -rf "$scratch/tree"
    put list 'installed include/ferry' 'lib core/low' 'lib core/high' 'net op' 'tool tools core/low' \
        'generated config.h lib'
    put include/ferry/a.h 'int a;'
    put core/low/low.h '#include <ferry/a.h>'
    put core/low/low.c '#include "config.h"' '#include "core/low/low.h"' '#include <string.h>'
    put core/high/high.c '#include "core/low/low.h"' '#  include "high.h"'
    put core/high/high.h '/* #include "core/nowhere.h" */'
    put op/op.c '#include <ferry/a.h>'
    put tools/tool.c '#include "low.h"'
}

# finds NAME LINE: the tree as it is now gives that one line.
finds() {
    look "$scratch/tree" "$scratch/tree/list" >"$scratch/said"
    if [ "$(cat "$scratch/said")" = "$2" ]; then
        pass "$1"
    else
        fail "$1" "expected: $2" "found: $(cat "$scratch/said")"
    fi
    build_tree
}

build_tree
finds a_tree_in_order_passes ''
put core/low/low.h '' '#include "core/high/high.h"'
put core/high/high.c ''
finds an_include_that_goes_up_is_found \
    'core/low/low.h:2: core/high/high.h: goes up, from core/low to core/high'
put op/op.c '#include "core/low/low.h"'
finds an_include_of_another_house_is_found \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
put op/op.c '#include <core/low/low.h>'
finds angle_brackets_hide_nothing \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
put op/op.c '#include "../core/low/low.h"'
finds a_path_with_dots_is_found \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
put op/op.c '#include "config.h"'
finds what_is_generated_for_others_is_found 'op/op.c:1: config.h: generated for lib'
put op/op.c '#include "gone.h"'
finds a_header_that_is_nowhere_is_found 'op/op.c:1: gone.h: no file of the tree, and not generated'
put core/high/high.h '#include "core/high/other.h"'
put core/high/other.c '#include "core/high/other.h"' '#include "core/high/high.h"'
put core/high/other.h ''
finds a_circle_of_files_within_a_room_is_found \
    'core/high/other.c:2: a circle: core/high/high, core/high/other, core/high/high'
put core/attic/old.c ''
finds a_folder_that_is_no_room_is_found 'core/attic/old.c:1: its folder is no room'
put list 'installed include/ferry' 'lib core/low core/high' 'lib core/high' 'net op' 'tool tools core/low' \
    'generated config.h lib'
finds a_list_that_looks_up_is_found \
    "$scratch/tree/list:2: core/low sees core/high, which does not stand before it"

# ---- the tree itself ----

check every_include_of_the_tree_goes_down look "$FERRY_TEST_SRCDIR" "$scripts/rooms.list"

for room in $(sed -n '/^[a-z]* [a-z]/s/^[a-z]* \([^ ]*\).*/\1/p' "$scripts/rooms.list" |
    grep -v -e '^include/' -e '^examples$' -e '^tests/unit$' -e '^config.h$' -e '\.h$'); do
    check "${room}_says_what_it_knows" test -s "$FERRY_TEST_SRCDIR/$room/README.md"
done

build=${FERRY_TEST_BUILDDIR:-.}
if $NM --version >/dev/null 2>&1; then
    printf 'int b(void); int a(void) { return b(); }\n' >"$scratch/a.c"
    printf 'int a(void); int b(void) { return a(); }\n' >"$scratch/b.c"
    # shellcheck disable=SC2086
    (cd "$scratch" && ${CC:-cc} -c a.c b.c)
    if calls "$scratch/a.o" "$scratch/b.o" >"$scratch/said"; then
        fail a_circle_of_calls_is_found
    else
        pass a_circle_of_calls_is_found
    fi
    for folder in "$build"/core/ "$build"/io/ "$build"/backends/*/; do
        # shellcheck disable=SC2046
        set -- $(find "$folder" -path '*/.libs/*_la-*.o')
        [ $# -eq 0 ] || check "the_files_of_$(basename "$folder")_call_without_a_circle" calls "$@"
    done
else
    skip the_files_of_a_plugin_call_without_a_circle "$NM cannot be run"
fi

# prints: where a subcommand prints by itself, past what makes names harmless to a terminal.
prints() {
    grep -nE '(^|[^[:alnum:]_])(v?printf|puts|vfprintf)\(' "$FERRY_TEST_SRCDIR"/tools/ferry/*.c |
        grep -v '/output\.c:'
}
if found=$(prints); then
    fail no_subcommand_prints_by_itself "$found"
else
    pass no_subcommand_prints_by_itself
fi

finish rooms
