/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is compiled once for each instruction set. Which one is used is decided when the device is
 * opened, by what the CPU has or by option.isa.
 */
#ifndef FERRY_CPU_ISA_H
#define FERRY_CPU_ISA_H

#include <stdint.h>

struct cpu_isa {
    const char *name; /* as option.isa has it */
};

/*
 * The set of that name, "auto" for the best that the CPU has. NULL: there is none of that name, or
 * the CPU lacks it.
 */
const struct cpu_isa *cpu_isa_find(const char *name);

#endif
