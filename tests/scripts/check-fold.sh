#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `ferry upgrade --fold` beside the unfolded net, computed by NumPy (check-fold.py).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${PYTHON:=python3}"

if ! "$PYTHON" -c 'import numpy' 2>/dev/null; then
    echo "SKIP: $PYTHON cannot import numpy"
    exit 77
fi
build=$(cd "$FERRY_TEST_BUILDDIR" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
PYTHONPATH=$FERRY_TEST_SRCDIR/python FERRY_LIBRARY_PATH=$build/.libs "$PYTHON" "$FERRY_TEST_SRCDIR/tests/scripts/check-fold.py" \
    "$build/tools/ferry/ferry" "$work"
