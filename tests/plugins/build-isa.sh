#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Links the objects of the cpu plugin again, as FOLDER/ferry_cpu.so, with the products of one
# instruction set in a form that other processors execute. FOLDER is named after the form:
#   evex  AVX-VNNI's in the encoding of AVX-512
#   amx   AMX's by the model of amx-model.h, with its instructions as functions
# usage: build-isa.sh TOP FOLDER OBJECTS.lo…; the compiler is $CC with $CFLAGS, $LDFLAGS and $LIBS.
set -eu

top=$1 folder=$2 form=${2##*/}
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

case $form in
evex)
    products=integer_avxvnni flag=-DCPU_EVEX
    ;;
amx)
    products=integer_amx flag=--include=$top/tests/plugins/amx-model.h
    ;;
*)
    echo "build-isa.sh: unknown form: $form" >&2
    exit 2
    ;;
esac
build "$top/tests/plugins/$form.c" "$folder/features.o"
build "$top/backends/cpu/op/$products.c" "$folder/$products.o" "$flag"
objects=
for object; do
    case $object in
    *-features.lo | *-"$products".lo) ;;
    *) objects="$objects ${object%/*}/.libs/$(basename "$object" .lo).o" ;;
    esac
done
# shellcheck disable=SC2086 # a list, and flags
${CC:-cc} ${CFLAGS-} -shared ${LDFLAGS-} -o "$folder/ferry_cpu.so" "$folder/features.o" \
    "$folder/$products.o" $objects ${LIBS-}
