#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Links the objects of the cpu plugin again, as FOLDER/ferry_cpu.so, whose AVX-VNNI products have
# the encoding of AVX-512: processors with AVX-512 VNNI and without AVX-VNNI execute them.
# usage: build-evex.sh TOP FOLDER OBJECTS.lo…; the compiler is $CC with $CFLAGS, $LDFLAGS and $LIBS.
set -eu

top=$1 folder=$2
shift 2
mkdir -p "$folder"

# build SOURCE OBJECT FLAGS…
build() {
    source=$1 object=$2
    shift 2
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} -std=c11 ${CFLAGS-} -fPIC -fvisibility=hidden -I"$top" -I"$top/include" "$@" -c \
        -o "$object" "$source"
}

build "$top/tests/plugins/evex.c" "$folder/features.o"
build "$top/backends/cpu/op/integer_avxvnni.c" "$folder/integer_avxvnni.o" -DCPU_EVEX
objects=
for object; do
    case $object in
    *-features.lo | *-integer_avxvnni.lo) ;;
    *) objects="$objects ${object%/*}/.libs/$(basename "$object" .lo).o" ;;
    esac
done
# shellcheck disable=SC2086 # a list, and flags
${CC:-cc} ${CFLAGS-} -shared ${LDFLAGS-} -o "$folder/ferry_cpu.so" "$folder/features.o" \
    "$folder/integer_avxvnni.o" $objects ${LIBS-}
