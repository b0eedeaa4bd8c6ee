#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The page doc/kinds.md matches the code: doc/kinds.py makes it from the layers' tiers on sim.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

made() {
    "${PYTHON:-python3}" "$FERRY_TEST_SRCDIR/doc/kinds.py" "$FERRY_TEST_BUILDDIR/tools/ferry/ferry" \
        >"$scratch/kinds.md" && diff -u "$FERRY_TEST_SRCDIR/doc/kinds.md" "$scratch/kinds.md"
}

case " ${FERRY_TEST_PLUGINS-} " in
*" sim "*) check the_page_of_kinds_matches_the_code made ;;
*) skip the_page_of_kinds_matches_the_code 'sim was not built' ;;
esac

finish kinds
