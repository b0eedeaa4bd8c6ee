#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Files and memory shared with NumPy, protobuf, safetensors, h5py, OpenCV, PyTorch: check-interop.py.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

: "${PYTHON:=python3}"
# sim is only selected by name, and may be the only plugin that was built.
: "${FERRY_BACKEND:=cpu,sim}"
export FERRY_BACKEND
# A sanitizer must be linked into the program, and Python is not.
# shellcheck disable=SC2086
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferryio.so" 2>/dev/null |
    grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    skip interop 'Python cannot load a libferryio that was built with a sanitizer'
    finish interop
fi
# The system's Python has the system's packages; another Python on PATH may lack them.
for candidate in "$PYTHON" /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then
        exec "$candidate" "$FERRY_TEST_SRCDIR/tests/scripts/check-interop.py"
    fi
done
skip interop 'no Python with NumPy was found'
finish interop
