/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction sets that some loops are compiled for. Which one is used is decided when the
 * device is opened, by what the CPU has or by option.isa.
 */
#ifndef FERRY_CPU_ISA_H
#define FERRY_CPU_ISA_H

enum cpu_set { CPU_PORTABLE, CPU_AVX2, CPU_AVX512, CPU_SETS };

struct cpu_isa {
    const char *name; /* as option.isa has it */
    enum cpu_set set;
};

/*
 * The set of that name, "auto" for the best that the CPU has. NULL: there is none of that name, or
 * the CPU lacks it.
 */
const struct cpu_isa *cpu_isa_find(const char *name);

#endif
