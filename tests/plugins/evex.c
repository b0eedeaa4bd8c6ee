/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "backends/cpu/isa.h"

/*
 * A part of the test plugin evex/ferry_cpu.so (build-isa.sh), in the place of the cpu plugin's
 * features.c: the processor's features, and AVX-VNNI if it has AVX-512 VNNI, whose encoding of
 * VPDPBUSD the test plugin uses.
 */

#define cpu_features_read real_features
#include "backends/cpu/features.c"
#undef cpu_features_read

void cpu_features_read(struct cpu_features *out)
{
    const uint32_t f_and_vl = UINT32_C(1) << 16 | UINT32_C(1) << 31;

    real_features(out);
    if ((out->leaf7_ebx & f_and_vl) == f_and_vl && (out->leaf7_ecx >> 11 & 1))
        out->leaf7_1_eax |= UINT32_C(1) << 4;
}
