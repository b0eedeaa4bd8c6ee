#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compiles the CUDA text of the kernels with hipcc for AMD's GPUs: all kernels are there, and
# barriers. Nothing is run, and no plugin contains the result. Contraction is off, as HIP's
# __fmul_rn is a plain product.
#
# usage: check-hip.sh [ARCHITECTURE…]; default: gfx90a and gfx1030
set -eu
: "${FERRY_TEST_SRCDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if ! command -v hipcc >/dev/null; then
    skip hip 'hipcc is not on PATH'
    finish hip
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf '#include <hip/hip_runtime.h>\n#define __CUDACC__ 1\n#include "backends/cuda/kernels.cu"\n' \
    >"$work/kernels.hip"

# The names of the kernels in the texts, but for those that a macro makes.
named() {
    sed -n 's/^KERNEL(\([a-z_0-9]*\),.*/\1/p' "$FERRY_TEST_SRCDIR"/kernels/*.k
}

compiles() {
    hipcc -x hip --offload-arch="$1" --offload-device-only -O3 -ffp-contract=off -S \
        -I"$FERRY_TEST_SRCDIR" -o "$work/$1.s" "$work/kernels.hip"
    for kernel in $(named); do
        grep -q "amdhsa_kernel $kernel\$" "$work/$1.s" || { echo "$1: no $kernel"; return 1; }
    done
    grep -q s_barrier "$work/$1.s" || { echo "$1: no barrier"; return 1; }
}

[ $# -gt 0 ] || set -- gfx90a gfx1030
for arch; do
    check "hip/$arch" compiles "$arch"
    [ ! -e "$work/$arch.s" ] ||
        printf '     %s kernels, %s barriers\n' "$(grep -c 'amdhsa_kernel ' "$work/$arch.s")" \
            "$(grep -c s_barrier "$work/$arch.s")"
done
finish hip
