#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The backend in the real Triton server: tests/triton/served.py. FERRY_TEST_TRITON names a folder with a virtual
# environment that has nvidia-pytriton, tritonclient[all] and NumPy; `check-triton.sh fetch FOLDER` makes one by pip.
set -u

if [ "${1-}" = fetch ]; then
    python3 -m venv "${2:?}" && exec "$2/bin/pip" install -q nvidia-pytriton==0.7.0 'tritonclient[all]' numpy
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
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null |
    grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    skip_all 'the server cannot load a libferry that was built with a sanitizer'
fi
python=$FERRY_TEST_TRITON/bin/python
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null) ||
    skip_all "$FERRY_TEST_TRITON has no Python"
"$python" -c 'import numpy, tritonclient.grpc, tritonclient.http' 2>/dev/null || skip_all "$python has no tritonclient"
server=$packages/pytriton/tritonserver/bin/tritonserver
[ -x "$server" ] || skip_all "there is no $server"

# The server's own libraries are beside the package.
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
passed=$(grep -c '^pass ' "$work/out")
failed=$(grep -c '^FAIL ' "$work/out")
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || fail triton_comes_to_its_end "exit status $status"
finish triton
