# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# The files of the tree that a check of text applies to.

# shellcheck disable=SC2016
# files_done CHECK FIND-EXPRESSION…: the files below the working folder that match the expression
# and that prose.todo does not exclude from CHECK, without the output of builds and editors.
files_done() {
    done_check=$1
    shift
    find . \( -name '.git' -o -name 'build*' -o -name 'b-*' -o -name 'autom4te.cache' -o -name '.deps' \) \
        -prune -o -type f \( "$@" \) -print | sed 's|^\./||' | sort |
        "${AWK:-awk}" -v check="$done_check" -v list="$FERRY_TEST_SRCDIR/tests/scripts/prose.todo" '
            BEGIN { while ((getline line <list) > 0)
                if (split(line, part, " ") == 2 && part[1] == check) skipped[part[2]] = 1 }
            { path = $0; skip = path in skipped
              while (!skip && sub(/\/[^\/]*$/, "", path)) skip = path in skipped
              if (!skip) print }'
}
