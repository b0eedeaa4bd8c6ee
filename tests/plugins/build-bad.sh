#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds the plugins whose errors `ferry check` must detect, and the good ones that they derive
# from. usage: build-bad.sh SOURCES INCLUDE FOLDER; the compiler is $CC with $CFLAGS and $LDFLAGS.
set -eu

sources=$1 include=$2 folder=$3

mkdir -p "$folder"
# A library named like libferry, for the plugin that links it.
: | ${CC:-cc} -x c - -shared -fPIC -Wl,-soname,libferry.so.0 -o "$folder/libferry.so.0"
for source in "$sources"/good-*.c "$sources"/bad-*.c; do
    name=$(basename "$source" .c | tr - _)
    libraries=
    [ "$name" != bad_needed ] || libraries="-Wl,--no-as-needed $folder/libferry.so.0"
    # A modified plugin may leave functions unused. The flags are several words.
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 ${CFLAGS-} -Wall -Wextra -Wno-unused-function -fPIC -fvisibility=hidden \
        -I"$include" "$source" -o "$folder/ferry_$name.so" -shared ${LDFLAGS-} $libraries
done
