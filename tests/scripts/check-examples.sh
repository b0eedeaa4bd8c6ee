#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The examples of a topic print the text of examples/expected, on a device with the host's memory
# and on one with memory of its own.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

built() {
    case " ${FERRY_TEST_PLUGINS-} " in
    *" $1 "*) ;;
    *) return 1 ;;
    esac
}

# prints BACKEND TOPIC: its output matches the expected one, and its exit status is 0.
prints() {
    printed=$(FERRY_BACKEND=$1 "$FERRY_TEST_BUILDDIR/examples/$2" 2>&1) || {
        echo "$printed"
        return 1
    }
    echo "$printed" | diff -u "$FERRY_TEST_SRCDIR/examples/expected/$2.txt" -
}

for expected in "$FERRY_TEST_SRCDIR"/examples/expected/*.txt; do
    topic=$(basename "$expected" .txt)
    for backend in cpu sim; do
        name=$(echo "$topic" | tr - _)_on_$backend
        if [ ! -x "$FERRY_TEST_BUILDDIR/examples/$topic" ]; then
            skip "$name" 'it was not built'
        elif ! built "$backend"; then
            skip "$name" "the $backend plugin was not built"
        elif { [ "$topic" = two-devices ] || [ "$topic" = split-net ]; } && ! built sim; then
            skip "$name" 'its devices are simulated, and sim was not built'
        else
            check "$name" prints "$backend" "$topic"
        fi
    done
done

finish examples
