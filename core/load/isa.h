/* SPDX-License-Identifier: BSD-2-Clause */
/* The instruction sets that this machine can run: supported by the CPU and enabled by the OS. */
#ifndef FERRY_CORE_ISA_H
#define FERRY_CORE_ISA_H

#include <stddef.h>
#include <stdint.h>

/* Returns FERRY_CPU_… bits. In a virtual machine each cpuid takes ten microseconds. */
uint32_t ferry__isa_features(void);

/* Decodes cpuid leaves 1 and 7 and XCR0; a separate function, so that it can be tested. */
uint32_t ferry__isa_decode(uint32_t leaf1_ecx, uint32_t leaf7_ebx, uint64_t xcr0);

/* Writes the names of the bits, "AVX2, FMA"; a bit without a name is "bit 31". */
void ferry__isa_names(uint32_t features, char *out, size_t size);

#endif
