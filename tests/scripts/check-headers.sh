#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each installed header compiles alone without a warning, as C11 and as C++17, or, for those for
# C++, as C++11. Caffe's layer classes compile together, because they are alike. Usage:
# check-headers.sh [INCLUDE_FOLDER] default: the source tree's
set -u
: "${FERRY_TEST_SRCDIR:?}" "${CC:=cc}" "${CXX:=c++}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

include=${1:-$FERRY_TEST_SRCDIR/include}
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'

# compile COMPILER LANGUAGE STANDARD HEADER; the compiler and the warnings may be several words.
compile() {
    # shellcheck disable=SC2086
    echo "#include <ferry/$4>" |
        $1 -x "$2" -std="$3" $warnings -I"$include" -fsyntax-only -
}

# The beginning of a plugin's source. -S, because some warnings are only issued during code
# generation.
# shellcheck disable=SC2086
begin_plugin() {
    printf '#include <ferry/plugin.h>\nFERRY_PLUGIN(.name = "a", .version = "1", .vendor = "b");\n' |
        $1 -x "$2" -std="$3" $warnings -fvisibility=hidden -I"$include" -S -o /dev/null -
}

for path in "$include"/ferry/*.h; do
    header=$(basename "$path")
    stem=$(basename "$path" .h)
    check "${stem}_h_compiles_alone_as_c11" compile "$CC" c c11 "$header"
    if [ "$CXX" = no ]; then
        skip "${stem}_h_compiles_alone_as_cxx17" 'no C++ compiler was found'
    else
        check "${stem}_h_compiles_alone_as_cxx17" compile "$CXX" c++ c++17 "$header"
    fi
done
# shellcheck disable=SC2086
layers() {
    for path in "$include"/ferry/compat/caffe/layers/*.hpp; do
        echo "#include <${path#"$include"/}>"
    done | $CXX -x c++ -std=c++11 $warnings -I"$include" -fsyntax-only -
}

for path in "$include"/ferry/caffe.hpp "$include"/ferry/compat/caffe/*.hpp "$include"/ferry/compat/caffe/*/*.h* \
    "$include"/ferry/dnn.hpp; do
    case $path in */layers/*) continue ;; esac
    header=${path#"$include"/ferry/}
    name=$(echo "${header#compat/caffe/}" | tr ./ __)_compiles_alone_as_cxx11
    if [ "$CXX" = no ]; then
        skip "$name" 'no C++ compiler was found'
    elif [ -n "${FERRY_TEST_QUICK-}" ] && [ "$header" != "${header#compat/}" ]; then
        skip "$name" 'FERRY_TEST_QUICK: make check-long compiles it alone'
    else
        check "$name" compile "$CXX" c++ c++11 "$header"
    fi
done
if [ "$CXX" = no ]; then
    skip caffes_layers_compile_as_cxx11 'no C++ compiler was found'
else
    check caffes_layers_compile_as_cxx11 layers
fi
check a_plugin_begins_in_c11 begin_plugin "$CC" c c11
if [ "$CXX" = no ]; then
    skip a_plugin_begins_in_cxx17 'no C++ compiler was found'
else
    check a_plugin_begins_in_cxx17 begin_plugin "$CXX" c++ c++17
fi

finish headers
