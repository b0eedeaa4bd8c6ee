/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels.h"

#include <string.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

/* For any CPU of the architecture, since all common ones have vectors of 16 bytes. */
#define NAME(function) PASTE(function, _base)
#define TARGET
#define VECTOR_BYTES 16
#define HAVE_AVX2    0
#define HAVE_NEON    0
#include "kernels_impl.h"
#undef NAME
#undef TARGET
#undef VECTOR_BYTES
#undef HAVE_AVX2
#undef HAVE_NEON

#if defined(__x86_64__)
#include <immintrin.h>
#define NAME(function) PASTE(function, _avx2)
#define TARGET         __attribute__((target("avx2,fma,f16c")))
#define VECTOR_BYTES   32
#define HAVE_AVX2      1
#define HAVE_NEON      0
#include "kernels_impl.h"
#elif defined(__aarch64__)
#include <arm_neon.h>
#define NAME(function) PASTE(function, _neon)
#define TARGET
#define VECTOR_BYTES   16
#define HAVE_AVX2      0
#define HAVE_NEON      1
#include "kernels_impl.h"
#endif

const struct cpu_kernels *cpu_kernels_base(void)
{
    return &kernels_base;
}

/*
 * The best loops for this CPU. F16C is older than AVX2 and every CPU with AVX2 has it, and some
 * compilers cannot test for it.
 */
const struct cpu_kernels *cpu_kernels_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
    return &kernels_base;
#elif defined(__aarch64__)
    return &kernels_neon;
#else
    return &kernels_base;
#endif
}
