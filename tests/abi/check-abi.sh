#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Binary compatibility. Plugins that were built with the headers of ABI 1.0 and 1.1, with a shorter
# table and with a longer one, load and work. No structure that two binaries share has changed. The
# libraries export at least the symbols of tests/abi/*.abi.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}" "${CC:=cc}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
here=$FERRY_TEST_SRCDIR/tests/abi
template=$FERRY_TEST_SRCDIR/examples/plugin-template

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# ---- headers ------------------------------------------------------------------------------------

sh "$here/headers.sh" older "$FERRY_TEST_SRCDIR/include" "$work/older" || exit 1
sh "$here/headers.sh" newer "$FERRY_TEST_SRCDIR/include" "$work/newer" || exit 1

# offsets INCLUDE [SWITCH]
offsets() {
    # shellcheck disable=SC2086
    $CC -std=c11 -Wall -Wextra -Werror ${2-} -I"$1" -fsyntax-only "$here/offsets.c"
}

check nothing_in_todays_header_has_moved offsets "$FERRY_TEST_SRCDIR/include"
check nothing_in_the_first_header_has_moved offsets "$here/1.0"
check nothing_in_the_second_header_has_moved offsets "$here/1.1"
check a_shorter_header_is_the_beginning_of_todays offsets "$work/older" -DOLDER
check a_longer_header_begins_as_todays offsets "$work/newer"

# ---- plugins ------------------------------------------------------------------------------------

# plugin INCLUDE SOURCE… builds ferry_$name.so in $work/$folder.
plugin() {
    plugin_include=$1
    shift
    mkdir -p "$work/$folder"
    # shellcheck disable=SC2086
    $CC -std=c11 ${CFLAGS-} -w -fPIC -shared -fvisibility=hidden -I"$plugin_include" "$@" \
        -o "$work/$folder/ferry_$name.so" ${LDFLAGS-} -lpthread
}

# Which groups of `ferry check` a plugin of another age has to pass; .ci/run and `make check-long`
# run more.
groups=descriptor,memory,copy,copy-op,fill,convert,coherence
[ "${FERRY_TEST_QUICK-}" = 2 ] || groups=$groups,queues,events,threads,leaks,fork

passes() {
    "$FERRY_TEST_COMMAND" check "$work/$folder/ferry_$name.so" --only "$groups$1"
}

# of_age AGE INCLUDE NAME SOURCE…: the plugin is built against that header, and its tests pass.
of_age() {
    folder=$1 age_include=$2 name=$3
    shift 3
    check "${name}_built_against_the_${folder}_header" plugin "$age_include" "$@"
    more=
    [ "$folder" = first ] || [ "$folder" = older ] || more=,ops
    check "${name}_of_the_${folder}_header_passes" passes "$more"
}

good=$FERRY_TEST_SRCDIR/tests/plugins/good-sync.c
for age in first newer; do
    include=$work/newer
    [ "$age" = newer ] || include=$here/1.0
    # The templates use an operation and a typed option, which the first header did not have.
    if [ "$age" = newer ]; then
        of_age "$age" "$include" acme "$template/acme.c" "$template/acme_driver.c"
        of_age "$age" "$include" acme_queues "$template/acme_queues.c" "$template/acme_driver.c"
    else
        of_age "$age" "$include" good_async "$FERRY_TEST_SRCDIR/tests/plugins/good-async.c"
    fi
    of_age "$age" "$include" good_sync "$good"
done
of_age second "$here/1.1" acme "$template/acme.c" "$template/acme_driver.c"
of_age second "$here/1.1" good_sync "$good"
of_age second "$here/1.1" good_ops "$FERRY_TEST_SRCDIR/tests/plugins/good-ops.c"
of_age older "$work/older" good_sync "$good"

# ---- exported symbols ---------------------------------------------------------------------------

# Whether the dumps, which were made from gcc's debugging information on one kind of machine, can be
# compared with this build.
cannot_compare() {
    library=$FERRY_TEST_BUILDDIR/.libs/libferry.so
    if ! command -v abidiff >/dev/null 2>&1; then
        echo 'there is no abidiff (Debian: abigail-tools)'
    elif [ "$(uname -m)" != x86_64 ]; then
        echo 'the dumps are of x86_64'
    elif ! readelf -S "$library" | grep -q '\.debug_info'; then
        echo 'built without -g'
    elif ! readelf -p .comment "$library" | grep -q GCC ||
        readelf -p .comment "$library" | grep -q clang; then
        echo 'not built with gcc'
    elif nm -D "$library" | grep -q -E '__(asan|tsan|ubsan)'; then
        echo 'built with a sanitizer'
    fi
}

# same_as_dump DUMP BINARY: nothing in the dump was removed or changed; additions are allowed.
same_as_dump() {
    abidiff --suppressions "$here/suppress.ini" --no-added-syms "$here/$1.abi" "$2"
}

# compare TEST DUMP BINARY
compare() {
    why=$(cannot_compare)
    if [ -n "$why" ]; then
        skip "$1" "$why"
    elif [ ! -f "$3" ]; then
        skip "$1" "$3 is not built"
    else
        check "$1" same_as_dump "$2" "$3"
    fi
}

compare libferry_exports_what_it_did libferry "$FERRY_TEST_BUILDDIR/.libs/libferry.so"
compare libferryio_exports_what_it_did libferryio "$FERRY_TEST_BUILDDIR/.libs/libferryio.so"
compare libferrykernels_exports_what_it_did libferrykernels "$FERRY_TEST_BUILDDIR/.libs/libferrykernels.so"
compare libferrynet_exports_what_it_did libferrynet "$FERRY_TEST_BUILDDIR/.libs/libferrynet.so"
compare libferrympi_exports_what_it_did libferrympi "$FERRY_TEST_BUILDDIR/.libs/libferrympi.so"
compare the_plugin_interface_is_what_it_was plugin "$FERRY_TEST_BUILDDIR/backends/.libs/ferry_sim.so"

finish abi
