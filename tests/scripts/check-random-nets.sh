#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares random nets and solvers on every device with the oracle of tests/oracle for
# FERRY_TEST_SECONDS (60), half with fixed seeds, half with new ones.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_PLUGINS:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null |
    grep -q -E ' __(asan|tsan|msan|ubsan_handle)_'; then
    skip random-nets 'Python cannot load a libferry that was built with a sanitizer'
    finish random-nets
fi
if ! python=$(python_with numpy); then
    skip random-nets 'no Python with NumPy was found (Debian: python3-numpy)'
    finish random-nets
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

devices=$(echo "$FERRY_TEST_PLUGINS" | tr -s ' ' '\n' | grep -v -x hip | paste -s -d ,)
seconds=${FERRY_TEST_SECONDS:-${FERRY_TEST_QUICK:+10}}
# The threads of NumPy and of ferry would wait for each other on arrays of a few hundred elements.
PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 "$python" "$FERRY_TEST_SRCDIR/tests/random/nets" \
    --build "$FERRY_TEST_BUILDDIR" --devices "$devices" --seconds "${seconds:-60}" >"$work/out" 2>&1
status=$?
sed 's/^/     /' "$work/out"
sed -n 's/^not run: \([a-z]*\): \(.*\)/\1 \2/p' "$work/out" >"$work/absent"
while read -r name why; do
    skip "random-nets/$name" "$why"
done <"$work/absent"
if [ "$status" -eq 0 ]; then
    pass random-nets/every_net_is_within_the_oracles_bounds
else
    fail random-nets/every_net_is_within_the_oracles_bounds
fi
finish random-nets
