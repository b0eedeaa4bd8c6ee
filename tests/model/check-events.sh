#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The event rules, searched by spin. With all rules nothing is lost and no deadlock occurs; without
# any one of them, one of these occurs. The program makes FERRY_TEST_STEPS (3) accesses, and one
# more to find the error.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${CC:=cc}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

model=$FERRY_TEST_SRCDIR/tests/model/events.pml
steps=${FERRY_TEST_STEPS:-3} quick=${FERRY_TEST_QUICK-}
devices='two_devices one_device_with_two_queues'

# flag DEVICES
flag() {
    [ "$1" = two_devices ] || echo -DTWO_QUEUES
}

# search FLAG…: writes the result to search.out; fails if the search was not possible.
search() {
    rm -f pan pan.* search.out &&
        spin -a "$@" "$model" &&
        sh -c "$CC -O0 -w -DSAFETY -DMEMLIM=3000 -o pan pan.c" &&
        ./pan -m1000000 >search.out 2>&1 &&
        grep -q 'errors: ' search.out
}

# nothing_found FLAG…
nothing_found() {
    search "-DSTEPS=$steps" "$@" && grep 'states, stored' search.out && grep -q 'errors: 0$' search.out &&
        ! grep -q 'Search not completed' search.out
}

# something_found WHAT FLAG…
something_found() {
    what=$1
    shift
    search "-DSTEPS=$((steps + 1))" "$@" && grep "$what" search.out
}

if ! command -v spin >/dev/null 2>&1; then
    skip events 'spin was not found'
    finish events
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

for which in $devices; do
    # shellcheck disable=SC2046
    check "nothing_is_lost_and_nothing_deadlocks_on_$which" nothing_found $(flag "$which")
    [ -f search.out ] && sed -n '/states, stored/s/^ */     /p' search.out
    if [ "$which$quick" = one_device_with_two_queues2 ]; then
        skip "without_a_rule_on_$which" 'FERRY_TEST_QUICK=2: .ci/run and make check-long search it'
        continue
    fi
    for rule in READERS SOURCE HOST STALE; do
        name=$(echo "$rule" | tr '[:upper:]' '[:lower:]')
        # shellcheck disable=SC2046
        check "an_update_is_lost_on_${which}_without_the_rule_of_$name" \
            something_found 'assertion violated' "-DBROKEN_$rule" $(flag "$which")
    done
    # shellcheck disable=SC2046
    check "events_recorded_too_late_deadlock_on_$which" \
        something_found 'invalid end state' -DBROKEN_EVENT $(flag "$which")
done

finish events
