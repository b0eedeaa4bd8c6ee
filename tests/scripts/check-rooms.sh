#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# No file includes a file of a room above its own or of another house, or one that leads back to
# itself (rooms.list has the order), and the files of a folder call each other without a circle,
# except the circles that calls.list names with their reasons. First a made-up tree shows that each
# of these errors is found. Each room has a README.md.
set -u
: "${FERRY_TEST_SRCDIR:?}"
: "${AWK:=awk}" "${NM:=nm}"
scripts=$FERRY_TEST_SRCDIR/tests/scripts
# shellcheck source=tests/scripts/lib.sh
. "$scripts/lib.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# look TREE LIST: prints one line per include that is not allowed; fails if there is one.
look() {
    (cd "$1" && find backends bench common core examples include io kernels mpi net op triton solver tests/conform tests/reference \
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
symbols='{ of = $0; sub(/:.*/, "", of); of = substr(of, length(top) + 1); sub(/\.o$/, "", of)
           sub(/\.libs\/.*_la-/, "", of); sub(/\/ferry-/, "/", of); sub(/^[^:]*:/, ""); print $(NF - 1), $NF, of }'
# shellcheck disable=SC2016
users='NR == FNR { if ($1 ~ /^[TDBRVW]$/) of[$2] = $3; next }
       $1 == "U" && $2 in of { print $3, of[$2], $2 }'

# calls TOP LIST OBJECT…: prints one line per circle of calls among the objects, which are below
# TOP, that is not in LIST. Those that are in LIST are added to $scratch/met.
calls() {
    calls_top=$1 calls_list=$2
    shift 2
    # shellcheck disable=SC2086
    $NM -A "$@" | "$AWK" -v top="$calls_top" "$symbols" >"$scratch/symbols"
    "$AWK" "$users" "$scratch/symbols" "$scratch/symbols" | "$AWK" -f "$scripts/sets.awk" >"$scratch/circles"
    grep -vxF -f "$calls_list" "$scratch/circles" >"$scratch/found"
    grep -xF -f "$calls_list" "$scratch/circles" >>"$scratch/met"
    sed 's/^/a circle of calls: /' "$scratch/found"
    [ ! -s "$scratch/found" ]
}

# objects FOLDER: the objects of its files, without those whose source was removed.
objects() {
    find "$build/$1" -path '*/.libs/*_la-*.o' -o -path '*/tools/ferry/ferry-*.o' | while read -r object; do
        source=$(echo "${object#"$build/"}" | sed 's/\.libs\/.*_la-//; s/\/ferry-/\//; s/o$/c/')
        case $source in
        backends/*) echo "$object" ;; # some are made of the kernels' files
        *) [ ! -f "$FERRY_TEST_SRCDIR/$source" ] || echo "$object" ;;
        esac
    done
}

# reasons LIST: prints one line per circle of the list without a reason, per duplicate, and per
# circle that was not found although its folder is built.
reasons() {
    "$AWK" '/^#/ || !NF { next }
            /^ / { open = ""; next }
            { if (open) print open ": no reason"; if ($0 in seen) print $0 ": twice"; open = $0; seen[$0] = 1 }
            END { if (open) print open ": no reason" }' "$1" >"$scratch/found"
    grep -e '^[a-z]' "$1" | grep -vxF -f "$scratch/met" | while read -r first rest; do
        [ -z "$(objects "$(dirname "$first")")" ] || echo "$first $rest: not a circle any more"
    done >>"$scratch/found"
    cat "$scratch/found"
    [ ! -s "$scratch/found" ]
}

# ---- a made-up tree ----

# put PATH LINE…: writes a file with those lines.
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

# finds NAME LINE: the current tree gives that one line.
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
finds a_correct_tree_passes ''
put core/low/low.h '' '#include "core/high/high.h"'
put core/high/high.c ''
finds an_include_that_goes_up_is_found \
    'core/low/low.h:2: core/high/high.h: goes up, from core/low to core/high'
put op/op.c '#include "core/low/low.h"'
finds an_include_of_another_house_is_found \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
put op/op.c '#include <core/low/low.h>'
finds an_include_in_angle_brackets_is_found \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
put op/op.c '#include "../core/low/low.h"'
finds a_path_with_dots_is_found \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
put op/op.c '#include "config.h"'
finds an_include_of_a_header_generated_for_another_house_is_found 'op/op.c:1: config.h: generated for lib'
put op/op.c '#include "gone.h"'
finds a_missing_header_is_found 'op/op.c:1: gone.h: no file of the tree, and not generated'
put core/high/high.h '#include "core/high/other.h"'
put core/high/other.c '#include "core/high/other.h"' '#include "core/high/high.h"'
put core/high/other.h ''
finds a_circle_of_files_within_a_room_is_found \
    'core/high/other.c:2: a circle: core/high/high, core/high/other, core/high/high'
put core/attic/old.c ''
finds a_folder_that_is_not_a_room_is_found 'core/attic/old.c:1: its folder is no room'
put list 'installed include/ferry' 'lib core/low core/high' 'lib core/high' 'net op' 'tool tools core/low' \
    'generated config.h lib'
finds a_list_that_names_a_higher_room_is_found \
    "$scratch/tree/list:2: core/low sees core/high, which does not stand before it"
lend() {
    put list 'installed include/ferry' 'lib core/low' 'lib core/high' 'net op core/low/lent.h' \
        'tool tools core/low' 'generated config.h lib'
    put core/low/lent.h "$1"
    put op/op.c "$2"
}
lend '#include <ferry/a.h>' '#include "core/low/lent.h"'
finds a_header_that_the_list_names_may_be_included ''
lend '' '#include "core/low/low.h"'
finds another_header_of_its_room_may_not_be_included \
    "op/op.c:1: core/low/low.h: lib's own, which net knows by installed headers"
lend '#include "core/low/low.h"' '#include "core/low/lent.h"'
finds a_named_header_includes_nothing_of_its_house \
    'core/low/lent.h:1: core/low/low.h: core/low/lent.h is for other houses, and includes installed headers only'

# ---- the tree itself ----

check every_include_of_the_tree_goes_down look "$FERRY_TEST_SRCDIR" "$scripts/rooms.list"

for room in $(sed -n '/^[a-z]* [a-z]/s/^[a-z]* \([^ ]*\).*/\1/p' "$scripts/rooms.list" |
    grep -v -e '^include/' -e '^examples$' -e '^tests/unit$' -e '^config.h$' -e '\.h$'); do
    check "${room}_has_a_readme" test -s "$FERRY_TEST_SRCDIR/$room/README.md"
done

build=${FERRY_TEST_BUILDDIR:-.}
if $NM --version >/dev/null 2>&1; then
    printf 'int b(void); int a(void) { return b(); }\n' >"$scratch/a.c"
    printf 'int a(void); int b(void) { return a(); }\n' >"$scratch/b.c"
    # shellcheck disable=SC2086
    (cd "$scratch" && ${CC:-cc} -c a.c b.c)
    : >"$scratch/none"
    : >"$scratch/met"
    if [ "$(calls "$scratch/" "$scratch/none" "$scratch/a.o" "$scratch/b.o")" = 'a circle of calls: a b' ]; then
        pass a_circle_of_calls_is_found
    else
        fail a_circle_of_calls_is_found
    fi
    printf '%s\n' 'a b' >"$scratch/list"
    check a_circle_that_is_listed_passes calls "$scratch/" "$scratch/list" "$scratch/a.o" "$scratch/b.o"
    if [ "$(reasons "$scratch/list")" = 'a b: no reason' ]; then
        pass a_listed_circle_needs_a_reason
    else
        fail a_listed_circle_needs_a_reason
    fi
    printf '%s\n' 'io/blob io/error' '    none' >"$scratch/list"
    if [ "$(reasons "$scratch/list")" = 'io/blob io/error: not a circle any more' ]; then
        pass a_listed_circle_that_is_gone_is_found
    else
        fail a_listed_circle_that_is_gone_is_found
    fi
    : >"$scratch/met"
    for folder in core io net op solver mpi kernels tools/ferry "$build"/backends/*/; do
        folder=${folder#"$build"/}
        folder=${folder%/}
        # shellcheck disable=SC2046
        set -- $(objects "$folder")
        [ $# -eq 0 ] || check "the_files_of_$(basename "$folder")_call_without_a_circle" \
            calls "$build/" "$scripts/calls.list" "$@"
    done
    check every_listed_circle_exists_and_has_a_reason reasons "$scripts/calls.list"
else
    skip the_files_of_a_plugin_call_without_a_circle "$NM cannot be run"
fi

# prints: the places where a subcommand prints directly instead of by the functions that replace
# control characters.
prints() {
    grep -nE '(^|[^[:alnum:]_])(v?printf|puts|vfprintf)\(' "$FERRY_TEST_SRCDIR"/tools/ferry/*.c |
        grep -v -e '/output\.c:' -e '/text\.c:'
}
if found=$(prints); then
    fail no_subcommand_prints_by_itself "$found"
else
    pass no_subcommand_prints_by_itself
fi

finish rooms
