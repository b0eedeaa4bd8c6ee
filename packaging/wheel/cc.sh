#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A compiler for the wheel: $WHEEL_CC compiles, Zig links against glibc's symbols of version $WHEEL_GLIBC, which run with
# any later one.
for word; do
    case $word in
    -c | -E | -S | -print-* | --version | -v | -V | -qversion | -dumpmachine) exec $WHEEL_CC "$@" ;;
    esac
done
exec $WHEEL_ZIG cc -target "$WHEEL_ARCH-linux-gnu.$WHEEL_GLIBC" -O2 -fno-sanitize=undefined "$@"
