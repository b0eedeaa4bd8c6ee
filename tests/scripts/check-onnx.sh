#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs exported nets in other runtimes and compares them with Caffe's numbers: check-onnx.py, for
# each of onnxruntime, OpenVINO and OpenCV that the Python of FERRY_TEST_ONNX (or python3) can
# import.
set -u

: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

skip_all() {
    skip onnx "$1"
    finish onnx
}

python=${FERRY_TEST_ONNX-python3}
[ -d "${FERRY_TEST_DATA-}/nets" ] || skip_all 'FERRY_TEST_DATA has no nets'
"$python" -c 'import numpy, onnxruntime' 2>/dev/null || skip_all "$python has no onnxruntime"
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null |
    grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    skip_all "$python cannot load a libferry that was built with a sanitizer"
fi

PYTHONPATH=$(cd "$FERRY_TEST_SRCDIR/python" && pwd)
FERRY_LIBRARY_PATH=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH FERRY_LIBRARY_PATH FERRY_PLUGIN_PATH PYTHONDONTWRITEBYTECODE
check 'nets and layers are what Caffe computes' \
    "$python" "$FERRY_TEST_SRCDIR/tests/scripts/check-onnx.py" --engines onnxruntime "$FERRY_TEST_DATA/nets"
finish onnx
