#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds the plugins that `ferry check` has to catch, and the good ones that they are made of.
# usage: build-bad.sh SOURCES INCLUDE FOLDER; the compiler is $CC with $CFLAGS and $LDFLAGS.
set -eu

sources=$1 include=$2 folder=$3

mkdir -p "$folder"
for source in "$sources"/good-*.c "$sources"/bad-*.c; do
    name=$(basename "$source" .c | tr - _)
    # What a spoiled plugin does not use is no mistake of it. Flags are words.
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 ${CFLAGS-} -Wall -Wextra -Wno-unused-function -fPIC -fvisibility=hidden \
        -I"$include" "$source" -o "$folder/ferry_$name.so" -shared ${LDFLAGS-}
done
