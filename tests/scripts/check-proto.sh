#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares the reader of prototxt with protobuf's own reader: check-proto.py.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

: "${PYTHON:=python3}"
if [ ! -x "$FERRY_TEST_BUILDDIR/tests/unit/proto-tool" ]; then
    skip proto 'tests/unit/proto-tool is not built'
    finish proto
fi
# The system's Python has the system's packages; another Python on PATH may lack them.
for candidate in "$PYTHON" /usr/bin/python3; do
    if "$candidate" -c 'import google.protobuf' 2>/dev/null; then
        exec "$candidate" "$FERRY_TEST_SRCDIR/tests/scripts/check-proto.py"
    fi
done
skip proto 'no Python with protobuf was found (Debian: python3-protobuf)'
finish proto
