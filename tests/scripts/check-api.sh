#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The installed headers follow the rules of doc/design/api.md: each function has a noun of its table
# and is declared in that noun's header, counts and lookups have their suffixes, predicates are
# bool, and no header exceeds 300 lines. First a made-up header shows that each kind of error is
# found.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${AWK:=awk}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# nouns FILE: "NOUN HEADER" for each pair of the table in FILE.
nouns() {
    "$AWK" -F'|' '/^\| `ferry_[a-z]*[`,]/ && $3 ~ /\.h/ {
        n = split($2, noun, /[`, ]+/); m = split($3, header, /[, ]+/)
        for (i = 1; i <= n; i++) for (k = 1; k <= m; k++)
            if (noun[i] != "" && header[k] != "") print noun[i], header[k]
    }' "$1"
}

# functions HEADER…: "HEADER RESULT NAME" for each declaration.
functions() {
    for functions_of in "$@"; do
        { tr '\n' ' ' <"$functions_of"; echo; } | sed 's/FERRY_API/\
&/g' | sed -n 's/^FERRY_API *\([^(;]*[ *]\)\(ferry_[a-z0-9_]*\)(.*/\1 \2/p' |
            sed "s|^|$(basename "$functions_of") |; s/const //g; s/ \*/* /g"
    done
}

# faults NOUNS HEADER…: prints one line per fault.
faults() {
    faults_nouns=$1
    shift
    functions "$@" | "$AWK" 'NR == FNR { may[$1, $2] = 1; next }
        {
            noun = $NF
            if (!sub(/^ferry_/, "", noun)) next
            sub(/_.*/, "", noun)
            if (!(("ferry_" noun, $1) in may)) print $1 ": " $NF ": no noun of this header"
            if ($NF ~ /_n_/) print $1 ": " $NF ": counts end in _count"
            if ($NF ~ /_(is|has|needs|propagates)(_|$)/ && $2 != "bool") print $1 ": " $NF ": a predicate is bool"
            if ($NF ~ /_count$/ && $2 !~ /^int(64_t)?$/) print $1 ": " $NF ": a count is int or int64_t"
        }' "$faults_nouns" - >"$scratch/faults"
    wc -l "$@" | "$AWK" '$2 != "total" && $1 > 300 { print $2 ": " $1 " lines" }' >>"$scratch/faults"
    cat "$scratch/faults"
    [ ! -s "$scratch/faults" ]
}

# ---- a made-up header ----

finds() {
    printf '%s\n' "$2" >"$scratch/blob.h"
    printf 'ferry_blob blob.h\n' >"$scratch/nouns"
    if [ "$(faults "$scratch/nouns" "$scratch/blob.h")" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "expected: $3" "found: $(cat "$scratch/faults")"
    fi
}

finds a_correct_header_passes 'FERRY_API int ferry_blob_entry_count(const ferry_blob *b);' ''
finds a_foreign_noun_is_found 'FERRY_API int ferry_copy(void);' 'blob.h: ferry_copy: no noun of this header'
finds a_count_by_another_name_is_found 'FERRY_API int ferry_blob_n_axes(void);' \
    'blob.h: ferry_blob_n_axes: counts end in _count'
finds a_predicate_that_is_an_int_is_found 'FERRY_API int ferry_blob_is_small(void);' \
    'blob.h: ferry_blob_is_small: a predicate is bool'

# ---- the headers ----

nouns "$FERRY_TEST_SRCDIR/doc/design/api.md" >"$scratch/table"
check the_table_of_nouns_is_read test -s "$scratch/table"
set -- "$FERRY_TEST_SRCDIR"/include/ferry/*.h
check the_tree_has_functions test "$(functions "$@" | wc -l)" -gt 200
check the_headers_keep_the_rules faults "$scratch/table" "$@"

finish api
