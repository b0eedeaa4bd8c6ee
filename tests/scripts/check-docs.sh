#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every function of the installed headers has its comment right above it, and Doxygen makes pages of
# all headers without a warning.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# bare: the functions and types that stand below no comment.
bare() {
    awk '/^(FERRY_API|typedef|static inline) / && before !~ /\*\/ *$/ { print FILENAME ":" FNR ": " $0; bare = 1 }
        { before = $0 }
        END { exit !bare }' "$FERRY_TEST_SRCDIR"/include/ferry/*.h
}

if found=$(bare); then
    fail every_declaration_has_a_comment_above_it "$found"
else
    pass every_declaration_has_a_comment_above_it
fi

if command -v doxygen >/dev/null 2>&1; then
    check the_headers_become_pages_without_a_warning \
        make -s -C "$FERRY_TEST_BUILDDIR" doc DOC_FOLDER=doc/api-check
    rm -rf "$FERRY_TEST_BUILDDIR/doc/api-check"
else
    skip the_headers_become_pages_without_a_warning 'there is no doxygen (Debian: doxygen)'
fi

finish docs
