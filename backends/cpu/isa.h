/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction sets that some loops are compiled for. One is selected when the device is opened,
 * by the CPU's features or by option.isa.
 */
#ifndef FERRY_CPU_ISA_H
#define FERRY_CPU_ISA_H

/*
 * CPU_VNNI is AVX-512 with its products of bytes; CPU_BF16 is CPU_VNNI with products of BF16.
 * CPU_DOTPROD is NEON with its products of bytes; CPU_I8MM is CPU_DOTPROD with those of matrices.
 */
enum cpu_set {
    CPU_PORTABLE,
    CPU_NEON,
    CPU_DOTPROD,
    CPU_I8MM,
    CPU_AVX2,
    CPU_AVX512,
    CPU_VNNI,
    CPU_BF16,
    CPU_SETS
};

struct cpu_isa {
    const char *name; /* the name in option.isa */
    enum cpu_set set;
};

/*
 * The set of that name, "auto" for the best that the CPU supports; bf16 only if the CPU's
 * instruction is faster than F32's. NULL if the name is unknown or the CPU lacks the set.
 */
const struct cpu_isa *cpu_isa_find(const char *name);

#endif
