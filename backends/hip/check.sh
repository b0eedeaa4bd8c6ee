#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compiles the kernels to assembly for each architecture, and prints what that tells: kernels, barriers,
# the width of a wavefront, the most registers, shared memory and spilled registers of a kernel. A launch
# of 128 threads is two wavefronts of gfx90a and four of the others. Fails if a kernel of 128 threads
# cannot run, or without barriers.
#
# usage: check.sh TOP ARCHITECTURE…, with HIPCC in the environment
set -eu
top=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# most NAME: the largest number after that word of the metadata.
most() {
    sed -n "s/^ *\\.$1: *\\([0-9]*\\)\$/\\1/p" "$work/$arch.s" | sort -n | tail -n 1
}

echo '| architecture | kernels | barriers | wavefront | vector registers | shared bytes | spilled registers |'
echo '|---|---|---|---|---|---|---|'
for arch; do
    FLAGS='--offload-device-only -S' sh "$top/backends/hip/kernels.sh" "$HIPCC" "$top" "$work/$arch.s" "$arch"
    kernels=$(grep -c 'amdhsa_kernel ' "$work/$arch.s") barriers=$(grep -c 's_barrier *$' "$work/$arch.s")
    echo "| $arch | $kernels | $barriers | $(most wavefront_size) | $(most vgpr_count) |" \
        "$(most group_segment_fixed_size) | $(most vgpr_spill_count) |"
    [ "$kernels" -gt 0 ] && [ "$barriers" -gt 0 ] && [ "$(most max_flat_workgroup_size)" -ge 128 ]
done
