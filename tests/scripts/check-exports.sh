#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The exported symbols of the shared objects: the libraries export ferry_… with the version that
# introduced it and no ferry__…, a plugin exports its two symbols.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${NM:=nm}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# exports FILE: its defined dynamic symbols, one per line, sorted, without version nodes and the
# symbols that a sanitizer or a profiler defines.
exports() {
    # shellcheck disable=SC2086
    $NM -D --defined-only "$1" | awk '$2 != "A" { print $NF }' | sed 's/@.*//' |
        grep -v -E '^(__(asan|ubsan|tsan|msan|sanitizer|odr_asan|gcov|llvm)|_init$|_fini$)' |
        LC_ALL=C sort
}

# undefined FILE PATTERN: its undefined dynamic symbols that match.
undefined() {
    # shellcheck disable=SC2086
    $NM -D --undefined-only "$1" | awk '{ print $NF }' | grep -E "$2"
}

check_library() {
    found=$(exports "$1")
    strays=$(echo "$found" | grep -v -E '^ferry_[a-z]')
    if [ -z "$found" ]; then
        fail "$2_exports_something" "$1"
    elif [ -n "$strays" ]; then
        fail "$2_exports_only_ferry_names" "$strays"
    else
        pass "$2_exports_only_ferry_names"
    fi
}

# nodes FILE: the version nodes of its names; "none" for a name without one.
nodes() {
    # shellcheck disable=SC2086
    $NM -D --defined-only --with-symbol-versions "$1" |
        awk '$2 != "A" && $NF ~ /^ferry_/ {
                n = split($NF, part, "@")
                print (n > 1 ? part[n] : "none")
            }' |
        LC_ALL=C sort -u | tr '\n' ' '
}

check_nodes() {
    found=$(nodes "$1")
    if [ -z "${FERRY_TEST_VERSION_SCRIPT-}" ]; then
        skip "$2_names_have_a_version" 'this linker knows no version scripts'
    elif [ "$found" = 'FERRY_1.0 ' ]; then
        pass "$2_names_have_a_version"
    else
        fail "$2_names_have_a_version" "found: $found"
    fi
}

# Plugins keep pointers into libferry, libhdf5 has a function that each thread which used it calls at
# its end, and registered layer types point into libferrynet: dlclose must not unmap them.
check_stays() {
    if ! command -v readelf >/dev/null; then
        skip "$2_is_never_unmapped" 'no readelf'
    elif readelf -d "$1" | grep -q NODELETE; then
        pass "$2_is_never_unmapped"
    else
        fail "$2_is_never_unmapped" "$1 is not linked with -z nodelete"
    fi
}

# Python, and any program that opens the library late, has only a few hundred bytes left for
# thread-local variables of the initial-exec model, and ferry's buffers are larger.
check_late() {
    if ! command -v readelf >/dev/null; then
        skip "$2_can_be_opened_by_a_program_that_runs" 'no readelf'
    elif readelf -d "$1" | grep -q STATIC_TLS; then
        fail "$2_can_be_opened_by_a_program_that_runs" "$1 wants static TLS"
    else
        pass "$2_can_be_opened_by_a_program_that_runs"
    fi
}

check_plugin() {
    name=$(basename "$1" .so)
    found=$(exports "$1" | tr '\n' ' ')
    if [ "$found" = 'ferry_plugin ferry_plugin_open ' ]; then
        pass "${name}_exports_its_two_symbols_only"
    else
        fail "${name}_exports_its_two_symbols_only" "found: $found"
    fi
    imports=$(undefined "$1" '^ferry_')
    if [ -z "$imports" ]; then
        pass "${name}_imports_no_symbol_of_ferry"
    else
        fail "${name}_imports_no_symbol_of_ferry" "$imports"
    fi
}

libraries='libferry libferryio libferrykernels libferrynet'
[ ! -e "$FERRY_TEST_BUILDDIR/.libs/libferrympi.so" ] || libraries="$libraries libferrympi"
for library in $libraries; do
    check_library "$FERRY_TEST_BUILDDIR/.libs/$library.so" "$library"
    check_nodes "$FERRY_TEST_BUILDDIR/.libs/$library.so" "$library"
    check_late "$FERRY_TEST_BUILDDIR/.libs/$library.so" "$library"
done
for library in libferry libferryio libferrynet; do
    check_stays "$FERRY_TEST_BUILDDIR/.libs/$library.so" "$library"
done
for backend in ${FERRY_TEST_PLUGINS:-}; do
    check_plugin "$FERRY_TEST_BUILDDIR/backends/.libs/ferry_$backend.so"
done

# libferry requires libc, libdl, pthreads and inih, and nothing else.
needed=$(readelf -d "$FERRY_TEST_BUILDDIR/.libs/libferry.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
strays=$(echo "$needed" | grep -v -E '^(libc|libdl|libpthread|libinih|ld-linux.*|lib[atu]b?san)\.so')
if [ -z "$strays" ]; then
    pass libferry_needs_libc_and_inih_only
else
    fail libferry_needs_libc_and_inih_only "$strays"
fi

finish exports
