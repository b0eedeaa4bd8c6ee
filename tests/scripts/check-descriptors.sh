#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Descriptors that the libraries and plugins open are closed in programs that their process starts:
# each call that opens one sets close-on-exec on the same line.
set -u
: "${FERRY_TEST_SRCDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# left_open FOLDER…: prints the calls there that do not.
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
