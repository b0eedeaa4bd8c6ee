#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The boxes of MTCNN's pipeline, computed with 8 bits, overlap those in F32: mtcnn.py.
set -u

: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

skip_all() {
    skip mtcnn "$1"
    finish mtcnn
}

nets=${FERRY_TEST_DATA-}/nets/mtcnn
[ -d "$nets" ] || skip_all 'FERRY_TEST_DATA has no nets'
python=$(python_with numpy) || skip_all 'no Python has NumPy'
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null |
    grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    skip_all "$python cannot load a libferry that was built with a sanitizer"
fi

PYTHONPATH=$(cd "$FERRY_TEST_SRCDIR/python" && pwd)
FERRY_LIBRARY_PATH=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_BACKEND=cpu
PYTHONDONTWRITEBYTECODE=1
OMP_NUM_THREADS=1
export PYTHONPATH FERRY_LIBRARY_PATH FERRY_PLUGIN_PATH FERRY_BACKEND PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
"$python" "$FERRY_TEST_SRCDIR/tests/scripts/mtcnn.py" "$FERRY_TEST_BUILDDIR/tools/ferry/ferry" "$nets" \
    >"$output" 2>"$output.err" || fail mtcnn "$(cat "$output" "$output.err")"
rm -f "$output.err"
count_lines "$output"
finish mtcnn
