#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares `ferry upgrade --fold` with the unfolded net, computed by NumPy (check-fold.py).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

python=$(python_with numpy)
if [ -z "$python" ]; then
    skip folded_nets_compute_the_same 'no python3 has numpy'
    finish fold
fi
build=$(cd "$FERRY_TEST_BUILDDIR" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# a Python cannot load a libferry that was built with a sanitizer
if ! ${NM:-nm} -D "$build/.libs/libferry.so" 2>/dev/null | grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    PYTHONPATH=$FERRY_TEST_SRCDIR/python FERRY_LIBRARY_PATH=$build/.libs
    export PYTHONPATH FERRY_LIBRARY_PATH
fi
"$python" "$FERRY_TEST_SRCDIR/tests/scripts/check-fold.py" \
    "$build/tools/ferry/ferry" "$work" >"$work/out" 2>"$work/err" || grep -q '^FAIL' "$work/out" ||
    fail folded_nets_compute_the_same "$(cat "$work/err")"
count_lines "$work/out"
finish fold
