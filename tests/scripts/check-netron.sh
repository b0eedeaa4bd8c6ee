#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Files that ferry writes, opened in the page of Netron (check-netron.py).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

python=$(python_with netron,numpy)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$python" ]; then
    skip files_open_in_netron 'no python3 has netron and numpy (pip: netron)'
    finish netron
fi
if [ -z "$chromium" ]; then
    skip files_open_in_netron 'no chromium was found (Debian: chromium)'
    finish netron
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$python" "$FERRY_TEST_SRCDIR/tests/scripts/check-netron.py" "$chromium" "$FERRY_TEST_BUILDDIR/tools/ferry/ferry" "$work" \
    >"$work/out" 2>"$work/err" || grep -q '^FAIL' "$work/out" || fail files_open_in_netron "$(cat "$work/err")"
count_lines "$work/out"
finish netron
