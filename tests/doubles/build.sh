#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds libcudart, libcublas, libnvrtc and libcudnn with the sonames that the plugin looks for, and
# with the version node of the real libraries' symbols. usage: build.sh SOURCES TOP FOLDER CUDART
# CUBLAS; CUDART and CUBLAS are the numbers in the sonames, the compiler is $CC with $CPPFLAGS,
# $CFLAGS and $LDFLAGS.
set -eu

sources=$1 top=$2 folder=$3
cudart=libcudart.so.$4 cublas=libcublas.so.$5 nvrtc=libnvrtc.so.${4%%.*}
[ "$nvrtc" != libnvrtc.so.11 ] || nvrtc=libnvrtc.so.11.2

mkdir -p "$folder"

# library SONAME PREFIX OPTION…: exports PREFIX*, and ferry_cuda_double* to the other library.
library() {
    soname=$1 prefix=$2
    shift 2
    printf '%s { global: %s*; local: *; };\nFERRY { global: ferry_cuda_double*; };\n' \
        "$soname" "$prefix" >"$folder/$soname.map"
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} -std=c11 ${CPPFLAGS-} ${CFLAGS-} -fPIC -I"$top" "$@" -shared \
        -Wl,-soname,"$soname" -Wl,--version-script="$folder/$soname.map" ${LDFLAGS-} \
        -o "$folder/$soname" -lpthread
}

# The executor of PTX, and the sums of products in doubles, give the same results on any processor,
# and are fast on one with vectors and fma. With a sanitizer this compilation would take minutes.
fast=-O3
if grep -qw fma /proc/cpuinfo 2>/dev/null && grep -qw avx2 /proc/cpuinfo; then
    fast='-O3 -mavx2 -mfma'
fi
case ${CFLAGS-} in *-fsanitize*) fast= ;; esac
objects=
for file in "$top"/tests/ptx/*.c; do
    case $file in */test-*) continue ;; esac
    object=$folder/ptx-$(basename "$file" .c).o
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} -std=c11 ${CPPFLAGS-} ${CFLAGS-} $fast -fPIC -fvisibility=hidden -I"$top" -c "$file" -o "$object"
    objects="$objects $object"
done

# shellcheck disable=SC2086
library "$cudart" cuda $objects "$sources/arena.c" "$sources/capture.c" "$sources/context.c" "$sources/control.c" \
    "$sources/copy.c" "$sources/device.c" "$sources/executor.c" "$sources/graph.c" "$sources/kernels.c" "$sources/memory.c" \
    "$sources/module.c" "$sources/stream.c" -lm
CFLAGS="${CFLAGS-} $fast"
library "$cublas" cublas "$sources/cublas.c" "$sources/cublas-matrix.c" \
    "$sources/compute.c" "$folder/$cudart"
library "$nvrtc" nvrtc "$sources/nvrtc.c" "$folder/$cudart"
library libcudnn.so.9 cudnn "$sources/cudnn.c" "$sources/cudnn-convolution.c" "$folder/$cudart"
