#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the libraries and the plugins open is closed in a program that theirs starts: each call that
# opens something says so, on its own line.
set -u
: "${FERRY_TEST_SRCDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# left_open FOLDER…: the calls there that do not.
left_open() {
    grep -rnE --include='*.c' '(^|[^A-Za-z0-9_.>"])(open|openat|mkostemp|pipe2)\(' "$@" | grep -v O_CLOEXEC
    grep -rnE --include='*.c' '(^|[^A-Za-z0-9_])fopen\(' "$@" | grep -vE '"[arw+b]*e[+b]*"'
    grep -rnE --include='*.c' '(^|[^A-Za-z0-9_])(pipe|mkstemp|tmpfile|popen|dup|socket)\(' "$@"
}

cd "$FERRY_TEST_SRCDIR" || exit 1
found=$(left_open core io net op backends)
if [ -n "$found" ]; then
    fail every_descriptor_is_closed_on_exec "$found"
else
    pass every_descriptor_is_closed_on_exec
fi
finish descriptors
