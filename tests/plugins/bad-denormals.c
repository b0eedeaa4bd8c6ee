/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_denormals"
#include "good.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* The code that -ffast-math links into a shared object, run when it is loaded. */
static void flush_to_zero(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | UINT64_C(1) << 24));
#endif
}

/* Runs on each thread that calls it. */
static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    flush_to_zero();
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

/* Runs only on threads other than the first. */
static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    if (gettid() != getpid())
        flush_to_zero();
    return good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = axpy;
    ops->memset = set;
}
