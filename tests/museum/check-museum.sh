#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Plugins of earlier headers, as they were built then, load and pass `ferry check`.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_COMMAND:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
here=$FERRY_TEST_SRCDIR/tests/museum

if [ "$(uname -m)" != x86_64 ]; then
    skip museum "its plugins are of x86_64, and this is $(uname -m)"
    finish museum
fi

# Copies, in a folder that passes the checks of permissions wherever the sources are.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

unchanged() {
    (cd "$here" && sha256sum -c sums.txt) && [ "$(cat "$here"/*/*.so | wc -c)" -le 500000 ]
}

# passes ABI: the descriptor has that version, and no group fails.
passes() {
    mkdir -p "$work/$1" && cp "$here/$1/ferry_acme.so" "$work/$1/" && chmod -R go-w "$work/$1" &&
        "$FERRY_TEST_COMMAND" check "$work/$1/ferry_acme.so" >"$work/out" 2>&1 &&
        grep -q "descriptor .*ABI $1," "$work/out" && grep -q ' 0 failed' "$work/out" || {
        cat "$work/out"
        return 1
    }
}

check every_exhibit_is_as_it_was_made unchanged
for folder in "$here"/*/; do
    abi=$(basename "$folder")
    check "a_plugin_of_ABI_$(echo "$abi" | tr . _)_passes" passes "$abi"
done
finish museum
