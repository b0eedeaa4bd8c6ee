#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A compiler for the wheel: $WHEEL_CC compiles, Zig links for $WHEEL_TARGET, against glibc's symbols of the version
# in it, which run with any later one.
for word; do
    case $word in
    -c | -E | -S | -print-* | --version | -v | -V | -qversion | -dumpmachine) exec $WHEEL_CC "$@" ;;
    esac
done
# libtool's run path names the folder of the build, and patchelf, which replaces it, leaves its length in the file.
last=
count=$#
while [ "$count" -gt 0 ]; do
    word=$1 count=$((count - 1))
    shift
    [ "$last" != -Wl,-rpath ] || word=-Wl,/the/folder/of/the/build
    last=$word
    set -- "$@" "$word"
done
exec $WHEEL_ZIG cc -target "$WHEEL_TARGET" -O2 -fno-sanitize=undefined "$@"
