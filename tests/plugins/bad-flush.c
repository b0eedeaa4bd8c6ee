/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_flush"
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

static void __attribute__((constructor)) when_loaded(void)
{
    flush_to_zero();
}

static void spoil(ferry_plugin_ops *ops)
{
    (void)ops;
}
