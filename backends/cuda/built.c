/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels.h"

#ifdef CUDA_FATBIN

/* The fatbin that nvcc wrote, aligned as the driver requires. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden cuda_fatbin\n"
        ".globl cuda_fatbin\n"
        "cuda_fatbin:\n"
        ".incbin \"" CUDA_FATBIN "\"\n"
        ".byte 0\n"
        ".previous\n");

extern const unsigned char cuda_fatbin[];

const void *cuda_built(void)
{
    return cuda_fatbin;
}

#else

const void *cuda_built(void)
{
    return NULL;
}

#endif
