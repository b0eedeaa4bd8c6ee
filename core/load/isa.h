/* SPDX-License-Identifier: BSD-2-Clause */
/* The instruction sets that this machine can run: supported by the CPU and enabled by the OS. */
#ifndef FERRY_CORE_ISA_H
#define FERRY_CORE_ISA_H

#include <stddef.h>
#include <stdint.h>

/* Returns FERRY_CPU_… bits. In a virtual machine each cpuid takes ten microseconds. */
uint32_t ferry__isa_features(void);

/* The words of cpuid that have the bits; leaf7_1: subleaf 1; extended1: leaf 0x80000001. */
struct ferry__cpuid {
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax, extended1_ecx;
};

/* Decodes words of cpuid and XCR0; a separate function, so that it can be tested. */
uint32_t ferry__isa_decode(const struct ferry__cpuid *words, uint64_t xcr0);

/* Writes the names of the bits, "AVX2, FMA"; a bit without a name is "bit 31". */
void ferry__isa_names(uint32_t features, char *out, size_t size);

#endif
