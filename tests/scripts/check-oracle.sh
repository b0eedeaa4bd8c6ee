#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests of the oracle of nets in tests/oracle. They need no build.
set -u
: "${FERRY_TEST_SRCDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if ! python=$(python_with numpy,pytest); then
    skip oracle 'no Python with NumPy and pytest was found'
    finish oracle
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$FERRY_TEST_SRCDIR/tests "$python" -m pytest -v --tb=short \
    -p no:cacheprovider --basetemp="$work/tmp" "$FERRY_TEST_SRCDIR/tests/oracle" >"$work/out" 2>&1
status=$?
pytest_results oracle "$work/out"
[ "$status" -eq 0 ] || sed 's/^/     /' "$work/out"
case $status in
0 | 1) [ $((passed + failed)) -gt 0 ] || fail oracle/there_are_tests ;;
*) fail oracle/pytest_exits_with_0_or_1 "exit status $status" ;;
esac
finish oracle
