#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs in Caffe's style in C++11 compile with only the include path changed: tests/cxx on two
# devices, and the example.
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

# compiled SOURCE PROGRAM. Passes the flags of CFLAGS that the libraries are linked with:
# sanitizers.
compiled() {
    # shellcheck disable=SC2046,SC2086
    $CXX -std=c++11 -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        $(printf '%s\n' $CFLAGS | grep '^-fsanitize\|^-fno-sanitize') \
        -I"$include/ferry/compat" -I"$include" "$1" -o "$2" \
        -L"$libraries" -lferrynet -lferryio -lferry -Wl,-rpath,"$libraries" $LDFLAGS -lpthread
}

# The header of ferry's message classes matches the schema of libferrynet.
messages() {
    python3 "$FERRY_TEST_SRCDIR/net/proto/caffe-messages.py" "$libraries" |
        cmp - "$include/ferry/compat/caffe/proto/caffe.pb.h"
}

if command -v python3 >/dev/null && [ -z "$(printf '%s\n' $CFLAGS | grep '^-fsanitize')" ]; then
    check the_message_classes_match_the_schema messages
else
    skip the_message_classes_match_the_schema 'python3 cannot load the libraries here'
fi
check a_program_in_caffes_style_compiles compiled "$FERRY_TEST_SRCDIR/tests/cxx/caffe.cpp" "$work/caffe"
check layers_and_solvers_in_caffes_style_compile compiled "$FERRY_TEST_SRCDIR/tests/cxx/layers.cpp" "$work/layers"
check the_example_compiles compiled "$FERRY_TEST_SRCDIR/examples/classify.cpp" "$work/classify"
check a_wrong_call_is_an_error_with_its_line sh -c \
    "! '$work/classify' 2>'$work/said' && grep -q 'Check failed: .*(1 vs. 4) NET WEIGHTS PICTURE' '$work/said'"
# A program's own protoc classes work beside ferry's headers, included before them or selected by a
# macro.
protobuf() {
    mkdir -p "$work/own" &&
        python3 "$FERRY_TEST_SRCDIR/net/proto/caffe-messages.py" "$libraries" --proto >"$work/own/caffe.proto" &&
        protoc -I"$work/own" --cpp_out="$work/own" "$work/own/caffe.proto" || return 1
    for way in -DBEFORE '-DFERRY_CAFFE_PROTO="own/caffe.pb.h"'; do
        # shellcheck disable=SC2086
        $CXX -std=c++11 -w "$way" -I"$work" -I"$include" "$FERRY_TEST_SRCDIR/tests/cxx/protobuf.cpp" \
            "$work/own/caffe.pb.cc" -o "$work/protobuf" -L"$libraries" -lferrynet -lferryio -lferry \
            -Wl,-rpath,"$libraries" $(pkg-config --cflags --libs protobuf) -lpthread &&
            FERRY_BACKEND=cpu "$work/protobuf" || return 1
    done
}

if ! command -v protoc >/dev/null || ! pkg-config --exists protobuf; then
    skip messages_compiled_by_the_program_are_used 'protoc and libprotobuf were not found'
elif [ -n "$(printf '%s\n' $CFLAGS | grep '^-fsanitize')" ]; then
    skip messages_compiled_by_the_program_are_used 'libprotobuf is not built with the sanitizer'
else
    check messages_compiled_by_the_program_are_used protobuf
fi
for program in caffe layers; do
    for case in $("$work/$program"); do
        for backend in cpu sim; do
            case " ${FERRY_TEST_PLUGINS-} " in
            *" $backend "*) check "${case}_on_$backend" env FERRY_BACKEND="$backend,cpu" "$work/$program" "$case" ;;
            *) skip "${case}_on_$backend" "the $backend plugin was not built" ;;
            esac
        done
    done
done
finish caffe-names
