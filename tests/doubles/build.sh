#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds libcudart, libcublas, libnvrtc and libcudnn with the sonames that the plugin looks for, and
# with the version node of the real libraries' symbols. usage: build.sh SOURCES TOP FOLDER PARTS
# CUDART CUBLAS; PARTS is the archive of the executor of PTX and the kernels, CUDART and CUBLAS are the
# numbers in the sonames. The compiler is $CC with $CPPFLAGS, $CFLAGS, $LDFLAGS, and $FAST for the
# sums of products.
#
# build.sh SOURCES TOP FOLDER PARTS hip LIBRARY ROCBLAS builds libamdhip64 and librocblas of the same sources, with HIP's
# names; LIBRARY is the real libamdhip64.so, whose soname and version nodes the double has, ROCBLAS a soname.
set -eu

sources=$1 top=$2 folder=$3 parts="-Wl,--whole-archive $4 -Wl,--no-whole-archive"
shift
mkdir -p "$folder"

# compiled SONAME OPTION…: a library of the options' sources.
compiled() {
    soname=$1
    shift
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} -std=c11 ${CPPFLAGS-} ${CFLAGS-} -fPIC -I"$top" "$@" -shared \
        -Wl,-soname,"$soname" -Wl,--version-script="$folder/$soname.map" ${LDFLAGS-} \
        -o "$folder/$soname" -lpthread
}

# library SONAME PREFIX OPTION…: exports PREFIX*, and ferry_cuda_double* to the other library.
library() {
    printf '%s { global: %s*; local: *; };\nFERRY { global: ferry_cuda_double*; };\n' \
        "$1" "$2" >"$folder/$1.map"
    soname=$1
    shift 2
    compiled "$soname" "$@"
}

runtime=
for name in arena capture context control copy device executor graph memory module stream; do
    runtime="$runtime $sources/$name.c"
done
blas="$sources/cublas.c $sources/cublas-matrix.c $sources/compute.c"

if [ "$4" = hip ]; then
    # Nodes as hip_4.2, each with the functions that the real library has in it.
    runtime_name=$(LC_ALL=C readelf -d "$5" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    ${NM:-nm} -D --defined-only --with-symbol-versions "$5" | awk '
        split($3, part, /@+/) == 2 && part[1] ~ /^hip/ && $2 == "T" { of[part[2]] = of[part[2]] " " part[1] ";" }
        END { for (node in of) printf "%s { global:%s };\n", node, of[node] }' >"$folder/$runtime_name.map"
    newer=
    grep -q hipStreamGetDevice "$folder/$runtime_name.map" || newer='hipStreamGetDevice;'
    echo "FERRY { global: ferry_cuda_double*; $newer local: *; };" >>"$folder/$runtime_name.map"
    flags='-DCUDA_NAMES="backends/hip/names.h"'
    # shellcheck disable=SC2086
    compiled "$runtime_name" "$flags" $parts $runtime "$sources/hip.c" -lm
    CFLAGS="${CFLAGS-} ${FAST-}"
    # shellcheck disable=SC2086
    library "$6" rocblas "$flags" $blas "$sources/rocblas.c" "$folder/$runtime_name"
    exit
fi

cudart=libcudart.so.$4 cublas=libcublas.so.$5 nvrtc=libnvrtc.so.${4%%.*}
[ "$nvrtc" != libnvrtc.so.11 ] || nvrtc=libnvrtc.so.11.2
# shellcheck disable=SC2086
library "$cudart" cuda $parts $runtime "$sources/driver.c" -lm
CFLAGS="${CFLAGS-} ${FAST-}"
# shellcheck disable=SC2086
library "$cublas" cublas $blas "$folder/$cudart"
library "$nvrtc" nvrtc "$sources/nvrtc.c" "$folder/$cudart"
library libcudnn.so.9 cudnn "$sources/cudnn.c" "$sources/cudnn-convolution.c" "$folder/$cudart"
