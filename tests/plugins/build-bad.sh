#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds the plugins that `ferry check` has to catch, and the good ones that they are made of.
# usage: build-bad.sh SOURCES INCLUDE FOLDER; the compiler is $CC with $CFLAGS and $LDFLAGS.
set -eu

sources=$1 include=$2 folder=$3

mkdir -p "$folder"
# A library of that name, for the one that is linked with it.
: | ${CC:-cc} -x c - -shared -fPIC -Wl,-soname,libferry.so.0 -o "$folder/libferry.so.0"
for source in "$sources"/good-*.c "$sources"/bad-*.c; do
    name=$(basename "$source" .c | tr - _)
    libraries=
    [ "$name" != bad_needed ] || libraries="-Wl,--no-as-needed $folder/libferry.so.0"
    # What a spoiled plugin does not use is no mistake of it. Flags are words.
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 ${CFLAGS-} -Wall -Wextra -Wno-unused-function -fPIC -fvisibility=hidden \
        -I"$include" "$source" -o "$folder/ferry_$name.so" -shared ${LDFLAGS-} $libraries
done
