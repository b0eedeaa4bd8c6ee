/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction sets that some loops are compiled for. One is selected when the device is opened,
 * by the CPU's features or by option.isa.
 */
#ifndef FERRY_CPU_ISA_H
#define FERRY_CPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

/*
 * CPU_AMX is CPU_VNNI with AMX's products of bytes and of BF16.
 * CPU_VNNI is AVX-512 with its products of bytes; CPU_BF16 is CPU_VNNI with products of BF16.
 * CPU_AVXVNNI is AVX2 with AVX-VNNI's products of bytes, which need no AVX-512.
 * CPU_DOTPROD is NEON with its products of bytes; CPU_I8MM is CPU_DOTPROD with those of matrices.
 */
enum cpu_set {
    CPU_PORTABLE,
    CPU_NEON,
    CPU_DOTPROD,
    CPU_I8MM,
    CPU_AVX2,
    CPU_AVXVNNI,
    CPU_AVX512,
    CPU_VNNI,
    CPU_BF16,
    CPU_AMX,
    CPU_SETS
};

struct cpu_isa {
    const char *name; /* the name in option.isa */
    enum cpu_set set;
};

/*
 * The words of CPUID and XGETBV on x86-64, where the others are 0, and of the auxiliary vector on
 * 64-bit ARM.
 */
struct cpu_features {
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx;
    uint32_t leaf7_1_eax; /* of subleaf 1 */
    uint64_t xcr0;        /* the registers that the operating system saves; 0 without XGETBV */
    bool is_amd, is_arm64;
    uint64_t hwcap, hwcap2;
};

/* Those of this processor (features.c). */
void cpu_features_read(struct cpu_features *out);
/*
 * Asks the kernel for the permission to use AMX's registers: Linux gives it to the process, to all
 * its threads, and to its children of fork. Returns 0, also if it was given before, or an errno
 * value: ENOSPC if a thread's alternative signal stack is too small for the registers.
 */
int cpu_features_permit_amx(void);

/*
 * The set of that name, "auto" for the best that the processor and the operating system support;
 * bf16 only if the CPU's instruction is faster than F32's, and never amx. NULL if the name is
 * unknown or the set is missing.
 */
const struct cpu_isa *cpu_isa_find(const char *name, const struct cpu_features *f);

#endif
