#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Comments, strings and documents are plain technical English: no sentence has a construction of
# prose.patterns, except in the files that prose.todo names. First each pattern is shown to match.
set -u
: "${FERRY_TEST_SRCDIR:?}"
: "${AWK:=awk}"
scripts=$FERRY_TEST_SRCDIR/tests/scripts
# shellcheck source=tests/scripts/lib.sh
. "$scripts/lib.sh"
# shellcheck source=tests/scripts/text.sh
. "$scripts/text.sh"

# found FILE…: prints one line per such sentence; fails if there is one.
found() {
    "$AWK" -v patterns="$scripts/prose.patterns" -f "$scripts/prose.awk" "$@" >"$scratch/found"
    cat "$scratch/found"
    [ ! -s "$scratch/found" ]
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# finds NAME TEXT: exactly one sentence of a file x.c with that text is found.
finds() {
    printf '%s\n' "$2" >"$scratch/x.c"
    found "$scratch/x.c" >/dev/null
    lines=$(wc -l <"$scratch/found")
    if [ "$lines" -eq 1 ]; then
        pass "$1"
    else
        fail "$1" "expected one line, found $lines:" "$(cat "$scratch/found")"
    fi
}

finds a_free_relative_clause_as_subject_is_found '/* Frees it. What is left of it is undefined. */'
finds a_person_for_a_thread_is_found '/* It waits for whoever holds the lock. */'
finds a_sentence_over_two_lines_is_found "$(printf '/*\n * The failure is\n * told by an event.\n */')"
finds a_string_is_found 'f("%s: said twice");'
finds has_not_for_lacks_is_found '/* A part that it has not. */'
finds is_none_is_found '/* A level that is none, or NULL. */'
finds is_no_is_found '/* It is no plugin. */'
finds goes_with_is_found '/* The event goes with its queue. */'
finds is_another_is_found '/* a number that is another whenever it is written */'
finds lies_is_found '/* It lies in that folder. */'
finds stands_is_found '/* It stands before the others. */'
finds for_good_is_found '/* Loaded for good. */'
cat >"$scratch/good.c" <<'END'
/* There is no such device. It is no longer open: who_is, `who is it` and 'what'. */
int what_is(int nobody); /* Its failures can be told apart. */
#include "nobody/lies.h"
END
check code_and_plain_sentences_pass found "$scratch/good.c"

cd "$FERRY_TEST_SRCDIR" || exit 1
# shellcheck disable=SC2046
check the_tree_is_in_plain_english found $(files_done prose -name '*.[chk]' -o -name '*.[ch]pp' \
    -o -name '*.md' -o -name '*.py' -o -name '*.mk' -o -name '*.sh' -o -name '*.awk' -o -name '*.ac' -o -name '*.am' -o -name '*.[1-8]' \
    -o -name 'bootstrap' -o -name 'NEWS' -o -name 'plugins.conf')
finish prose
