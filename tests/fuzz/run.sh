#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fuzzes one of the readers with libFuzzer, AddressSanitizer and UBSan, then minimises its corpus.
# Needs clang, inih and zlib; from the top of the source tree, after ./configure in build/:
#     tests/fuzz/run.sh conf|note|env|io|image|net|onnx|prototxt|netproto [SECONDS]
set -eu

name=$1 seconds=${2:-600}
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build}
work=${TMPDIR:-/tmp}/ferry-fuzz-$name
corpus=$top/tests/fuzz/corpus/$name

# Files of arrays are read by libferryio; their limit is twice the input and 64 MiB.
sources="$top/core/*/*.c" libs='-linih -ldl -lpthread -lm' most=64 words= defines=
case $name in
prototxt | netproto)
    # of the core, only the errors
    sources="$top/core/base/*.c $top/net/proto/*.c"
    ;;
net | onnx)
    # all formats except HDF5; the host's kernels and a plugin from the build, not instrumented
    sources="$top/core/*/*.c $top/net/*.c $top/net/*/*.c $top/net/data/leveldb/*.c $top/op/*.c"
    for source in "$top"/io/*.c; do
        case $source in
        */io/hdf5_none.c | */io/hdf5_family.c) sources="$sources $source" ;;
        */io/hdf5*.c | */io/write_hdf5*.c) ;;
        *) sources="$sources $source" ;;
        esac
    done
    libs="$build/kernels/.libs/libkernelhost.a $build/kernels/.libs/libkernelplans.a $libs -lz" most=256
    FERRY_PLUGIN_PATH=$build/backends/.libs FERRY_CONF=$top/tests/data/empty.conf FERRY_BACKEND=sim
    export FERRY_PLUGIN_PATH FERRY_CONF FERRY_BACKEND
    words=-dict=$top/tests/fuzz/prototxt.dict
    ;;
image)
    # few pixels, so that a header cannot request much memory
    sources="$top/core/*/*.c $top/net/data/image*.c"
    defines='-DFERRY_NET_HAVE_PNG -DFERRY_NET_HAVE_JPEG -DFERRY__IMAGE_PIXELS=65536'
    libs="$libs -lpng -ljpeg"
    ;;
esac
[ ! -f "$top/tests/fuzz/$name.dict" ] || words=-dict=$top/tests/fuzz/$name.dict
if [ "$name" = io ]; then
    # libhdf5 reads files only, not bytes
    for source in "$top"/io/*.c; do
        case $source in
        */io/hdf5_none.c | */io/hdf5_family.c) sources="$sources $source" ;;
        */io/hdf5*.c | */io/write_hdf5*.c) ;;
        *) sources="$sources $source" ;;
        esac
    done
    libs="$libs -lz" most=65
fi

mkdir -p "$work/corpus" "$work/crashes" "$corpus"
# Files that are installed or configured on this machine must not matter.
cat >"$work/defines.h" <<END
#define FERRY_SYSTEM_CONF "/nonexistent"
#define FERRY_PLUGINDIR "/nonexistent"
#define FERRY_DEFAULT_ORDER "cuda,opencl,cpu"
#define FERRY_ONLY_BY_NAME "sim"
END
# shellcheck disable=SC2086 # flags are words
${CLANG:-clang} -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -include "$work/defines.h" -I"$build" -I"$top" -I"$top/include" -I"$top/tests/fuzz" \
    -DFERRY_IO_HAVE_ZLIB $defines $sources "$top/tests/fuzz/fuzz-$name.c" -o "$work/fuzz" ${LIBS-$libs}
cd "$work/crashes"
# shellcheck disable=SC2086 # an empty option is removed
"$work/fuzz" $words -max_total_time="$seconds" -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=$most \
    -max_len=4096 -print_final_stats=1 "$work/corpus" "$corpus"
"$work/fuzz" -set_cover_merge=1 -use_counters=0 "$corpus" "$work/corpus"
