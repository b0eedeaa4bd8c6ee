#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the backend in the real Triton server (tests/triton/served.py), and ferry.mlserver in
# MLServer. FERRY_TEST_TRITON names a virtual environment with nvidia-pytriton, tritonclient[all],
# NumPy and OpenCV. Its folder `mlserver` is a virtual environment with MLServer. `check-triton.sh
# fetch FOLDER` creates both with pip.
set -u

if [ "${1-}" = fetch ]; then
    python3 -m venv "${2:?}" && python3 -m venv "$2/mlserver" || exit 1
    # pytriton requires NumPy 1. OpenCV requires NumPy 2, but also works with NumPy 1.
    "$2/bin/python" -m pip install -q nvidia-pytriton==0.7.0 'tritonclient[all]' 'numpy>=1.26,<2' &&
        "$2/bin/python" -m pip install -q --no-deps opencv-python-headless==4.14.0.94 &&
        "$2/bin/python" -c 'import cv2; cv2.dnn.readNetFromCaffe' &&
        exec "$2/mlserver/bin/python" -m pip install -q mlserver==1.7.1 numpy pytest
    exit 1
fi

: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

skip_all() {
    skip triton "$1"
    finish triton
}

[ -n "${FERRY_TEST_TRITON-}" ] || skip_all 'FERRY_TEST_TRITON names no environment with the Triton server'
[ -d "${FERRY_TEST_DATA-}/nets" ] || skip_all 'FERRY_TEST_DATA has no nets'
# AddressSanitizer must be the server's first library; the other sanitizers cannot be preloaded.
sanitizers=$(${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null |
    grep -o -E ' __(asan|tsan|msan|ubsan_handle)_' | sort -u)
if [ -n "$sanitizers" ]; then
    [ -n "${FERRY_TEST_LONG-}" ] || skip_all 'a libferry with a sanitizer is served with FERRY_TEST_LONG alone'
    TRITON_PRELOAD=$(${CC:-gcc} -print-file-name=libasan.so)
    case $sanitizers:$TRITON_PRELOAD in
    *asan*:/*) export TRITON_PRELOAD ;;
    *) skip_all 'the server cannot load a libferry that was built with this sanitizer' ;;
    esac
    ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:${ASAN_OPTIONS-}
    export ASAN_OPTIONS
fi
python=$FERRY_TEST_TRITON/bin/python
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null) ||
    skip_all "$FERRY_TEST_TRITON has no Python"
"$python" -c 'import numpy, tritonclient.grpc, tritonclient.http' 2>/dev/null || skip_all "$python has no tritonclient"
server=$packages/pytriton/tritonserver/bin/tritonserver
[ -x "$server" ] || skip_all "there is no $server"

# The server's own libraries are next to the package.
TRITON_LIBRARY_PATH=$packages/nvidia_pytriton.libs
PYTHONDONTWRITEBYTECODE=1
export TRITON_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
"$python" "$FERRY_TEST_SRCDIR/tests/triton/served.py" "$FERRY_TEST_BUILDDIR" "$FERRY_TEST_DATA" "$server" \
    >"$work/out" 2>&1
status=$?
cat "$work/out"
skipped=$(grep -c '^SKIP ' "$work/out")
passed=$(grep -c '^pass ' "$work/out")
failed=$(grep -c '^FAIL ' "$work/out")
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || fail triton_exits "exit status $status"

# ---- MLServer --------------------------------------------------------------------------------------

if [ -n "$sanitizers" ] || [ -n "${FERRY_TEST_SERVED-}" ]; then
    finish triton
fi
python=$FERRY_TEST_TRITON/mlserver/bin/python
if ! "$python" -c 'import mlserver, pytest' 2>/dev/null; then
    skip mlserver "there is no MLServer in $FERRY_TEST_TRITON/mlserver"
    finish triton
fi
FERRY_LIBRARY_PATH=$FERRY_TEST_BUILDDIR/.libs PYTHONPATH=$FERRY_TEST_SRCDIR/python FERRY_BACKEND=cpu \
    FERRY_PLUGIN_PATH=$FERRY_TEST_BUILDDIR/backends/.libs "$python" -m pytest -v --tb=short \
    -p no:cacheprovider --basetemp="$work/tmp" "$FERRY_TEST_SRCDIR/python/tests/test_mlserver.py" \
    >"$work/mlserver" 2>&1
status=$?
pytest_results mlserver "$work/mlserver"
[ "$status" -eq 0 ] || cat "$work/mlserver"
[ "$status" -le 1 ] || fail mlserver/pytest_exits_with_0_or_1 "exit status $status"
finish triton
