/* SPDX-License-Identifier: BSD-2-Clause */
#include "loops.h"

const struct cpu_loops *cpu_loops_of(const struct cpu_isa *isa)
{
    switch (isa->set) {
    case CPU_AMX:
    case CPU_BF16:
    case CPU_VNNI:
    case CPU_AVX512:
        return cpu_loops_avx512;
    case CPU_AVXVNNI:
    case CPU_AVX2:
        return cpu_loops_avx2;
    case CPU_I8MM:
    case CPU_DOTPROD:
    case CPU_NEON:
        return cpu_loops_neon;
    default:
        return cpu_loops_portable;
    }
}

const struct cpu_pairs *cpu_pairs_of(const struct cpu_isa *isa)
{
    return isa->set == CPU_BF16 ? cpu_pairs_bf16 : NULL;
}
