#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `ferry check cuda` on the executor of tests/ptx: the doubles run the PTX that nvcc makes of the
# kernels. One architecture runs with checks for data races and uninitialised reads, and with
# several orders of threads for sums; with FERRY_TEST_LONG every architecture, every order, and the
# limits of approximations.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}" "${FERRY_TEST_PLUGINS:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

case " $FERRY_TEST_PLUGINS " in
*' cuda '*) ;;
*) skip ptx 'the CUDA plugin was not built'; finish ptx ;;
esac
if ! command -v nvcc >/dev/null; then
    skip ptx 'nvcc is not on PATH'
    finish ptx
fi
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null | grep -q -E ' __(asan|tsan)_'; then
    skip ptx 'the executor is slow with a sanitizer; test-ptx and test-opcodes run with it'
    finish ptx
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# translated ARCH: the kernels' PTX.
translated() {
    nvcc -ptx -O3 -lineinfo -diag-suppress 177 -arch="sm_$1" -I"$FERRY_TEST_SRCDIR" \
        -o "$work/sm_$1.ptx" "$FERRY_TEST_SRCDIR/backends/cuda/kernels.cu"
}

# passes ARCH RUN GROUPS
passes() {
    CUDA_DOUBLE_PTX=$work/sm_$1.ptx CUDA_DOUBLE_PTX_RUN=$2 CUDA_DOUBLE_CAPABILITY=$1 \
        timeout 600 "$FERRY_TEST_COMMAND" check cuda --timeout 500 ${3:+--only "$3"}
}

# trial ARCH RUN GROUPS
trial() {
    check "ptx/sm_$1_$(echo "$2" | tr ',=' '__')_${3:-all_groups}" passes "$1" "$2" "$3"
}

# operations ARCH RUN: random operations against the oracle, with buffers bounded to the byte.
operations() {
    check "ptx/sm_$1_$(echo "$2" | tr ',=' '__')_random_operations" env FERRY_TEST_PTX="$work/sm_$1.ptx" \
        FERRY_TEST_PTX_RUN="$2" "$FERRY_TEST_BUILDDIR/tests/unit/test-kernels-ptx"
}

sums=dot,asum,sumsq,fill,convert
check ptx/nvcc_compiles_for_sm_80 translated 80
trial 80 race,unknown ''
operations 80 race,unknown
for order in descending shuffled=1 interleaved,two-blocks; do
    trial 80 "$order,blocks-descending" $sums
done
[ -n "${FERRY_TEST_LONG-}" ] || finish ptx

for order in descending,race single shuffled=1,race interleaved,two-blocks,race blocks-descending,low,race high; do
    trial 80 "$order" $sums,ops
    operations 80 "$order"
done
for arch in 75 90 120; do
    check ptx/nvcc_compiles_for_sm_$arch translated $arch
    trial $arch race,unknown ''
    operations $arch race,unknown
done
finish ptx
