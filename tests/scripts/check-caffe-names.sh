#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# C++ in Caffe's own style, by the include path alone, as C++11: tests/cxx on two devices, and the example.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}" "${CFLAGS=}" "${LDFLAGS=}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ "$CXX" = no ]; then
    skip programs_in_caffes_style 'no C++ compiler was found'
    finish caffe-names
fi
work=$(mktemp -d /tmp/ferry-cxx-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
include=$FERRY_TEST_SRCDIR/include
libraries=$FERRY_TEST_BUILDDIR/.libs

# compiled SOURCE PROGRAM. Of CFLAGS what the libraries are linked with matters: sanitizers.
compiled() {
    # shellcheck disable=SC2046,SC2086
    $CXX -std=c++11 -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        $(printf '%s\n' $CFLAGS | grep '^-fsanitize\|^-fno-sanitize') \
        -I"$include/ferry/compat" -I"$include" "$1" -o "$2" \
        -L"$libraries" -lferrynet -lferryio -lferry -Wl,-rpath,"$libraries" $LDFLAGS -lpthread
}

check a_program_in_caffes_style_compiles compiled "$FERRY_TEST_SRCDIR/tests/cxx/caffe.cpp" "$work/caffe"
check the_example_compiles compiled "$FERRY_TEST_SRCDIR/examples/classify.cpp" "$work/classify"
check a_wrong_call_is_an_error_with_its_line sh -c \
    "! '$work/classify' 2>'$work/said' && grep -q 'Check failed: .*(1 vs. 4) NET WEIGHTS PICTURE' '$work/said'"
for case in $("$work/caffe"); do
    for backend in cpu sim; do
        case " ${FERRY_TEST_PLUGINS-} " in
        *" $backend "*) check "${case}_on_$backend" env FERRY_BACKEND="$backend,cpu" "$work/caffe" "$case" ;;
        *) skip "${case}_on_$backend" "the $backend plugin was not built" ;;
        esac
    done
done
finish caffe-names
