#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A unary function that lacks its number, formula or reference does not compile, nor does a kind of
# operation that lacks its row: each is removed from a copy of its list, and the compiler must fail.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${CC:=cc}" "${AWK:=awk}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

list=kernels/unary_impl.h
numbers=include/ferry/op_params.h
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/include/ferry" "$scratch/tests/unit"
(cd "$FERRY_TEST_SRCDIR" && cp -R kernels op "$scratch" && cp include/ferry/*.h "$scratch/include/ferry" &&
    cp -R tests/reference "$scratch/tests" && cp tests/unit/*.h "$scratch/tests/unit") || exit 1
chmod -R u+w "$scratch"

# restore FILE: copies the file from the tree again.
restore() {
    cp "$FERRY_TEST_SRCDIR/$1" "$scratch/$1"
}

# A row may span lines. `what` is the part to remove: the row, the value or the slope (the last two
# of five parts), or none.
# shellcheck disable=SC2016
remove='
function parts(row, part,    i, c, n, depth) {
    n = 1
    part[1] = ""
    for (i = 1; i <= length(row); i++) {
        c = substr(row, i, 1)
        depth += (c == "(") - (c == ")")
        if (c == "," && depth == 1)
            part[++n] = ""
        else
            part[n] = part[n] c
    }
    closed = depth == 0
    return n
}
index($0, "X(" name ",") { row = ""; inside = 1 }
!inside { print; next }
{
    end = /\\$/ ? "\\" : ""
    sub(/ *\\$/, "")
    row = row $0
    n = parts(row, part)
    if (!closed)
        next
    inside = 0
    found = n == 5
    if (what == "row")
        print end
    else
        print part[1] "," part[2] "," part[3] "," (what == "value" ? " " : part[4]) "," \
            (what == "slope" ? " )" : part[5]) end
}
END { exit !found }'

# compile FILE…: compiles files of the copy.
compile() {
    for file in "$@"; do
        # shellcheck disable=SC2086
        (cd "$scratch" && $CC -std=c11 -I. -Iinclude -Itests/unit -fsyntax-only "$file") || return 1
    done
}

# refuses NAME FILE: the compiler must fail.
refuses() {
    if compile "$2" >"$scratch/output" 2>&1; then
        fail "$1" "$2 compiles"
    else
        pass "$1"
    fi
}

check the_functions_of_the_tree_compile compile op/unary.c tests/reference/unary.c
names=$(sed -n 's/^    X(\([A-Z0-9_]*\), [0-9].*/\1/p' "$FERRY_TEST_SRCDIR/$list")
for what in none row; do
    "$AWK" -v name=RELU -v what=$what "$remove" "$FERRY_TEST_SRCDIR/$list" >"$scratch/$list"
    case $what in
    none) check a_row_rewritten_as_it_is compile op/unary.c ;;
    row) refuses a_row_less op/unary.c ;;
    esac
done
for name in $names; do
    for what in value slope; do
        if "$AWK" -v name="$name" -v what=$what "$remove" "$FERRY_TEST_SRCDIR/$list" \
            >"$scratch/$list"; then
            refuses "${name}_without_its_${what}" op/unary.c
        else
            fail "${name}_without_its_${what}" "$list: no row of five parts"
        fi
    done
done
restore $list

count=$(sed -n 's/^#define FERRY_UNARY_COUNT *\([0-9]*\)u.*/\1/p' "$FERRY_TEST_SRCDIR/$numbers")
sed "s/^#define FERRY_UNARY_COUNT .*/#define FERRY_UNARY_NEW ${count}u\\
#define FERRY_UNARY_COUNT $((count + 1))u/" "$FERRY_TEST_SRCDIR/$numbers" >"$scratch/$numbers"
refuses a_number_without_a_row op/unary.c
refuses a_number_without_a_reference tests/reference/unary.c
sed "s/^#define FERRY_UNARY_RELU .*/#define FERRY_UNARY_RELU ${count}u/" "$FERRY_TEST_SRCDIR/$numbers" \
    >"$scratch/$numbers"
refuses a_number_that_differs_from_the_list op/unary.c

restore $numbers
sed "s/^#define FERRY_OP_LAST .*/#define FERRY_OP_LAST (FERRY_OP_UPDATE + 1)/" \
    "$FERRY_TEST_SRCDIR/include/ferry/op_types.h" >"$scratch/include/ferry/op_types.h"
refuses a_kind_without_a_row op/check.c
restore include/ferry/op_types.h
grep -v 'X(SOFTMAX, FORWARD' "$FERRY_TEST_SRCDIR/kernels/kinds.h" >"$scratch/kernels/kinds.h"
refuses a_missing_row_of_kinds op/check.c

finish functions
