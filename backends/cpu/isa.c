/* SPDX-License-Identifier: BSD-2-Clause */
#include "isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static const struct cpu_isa bf16 = { "bf16", CPU_BF16 }, vnni = { "vnni", CPU_VNNI },
                            avx512 = { "avx512", CPU_AVX512 }, avx2 = { "avx2", CPU_AVX2 },
                            i8mm = { "i8mm", CPU_I8MM }, dotprod = { "dotprod", CPU_DOTPROD },
                            neon = { "neon", CPU_NEON }, portable = { "portable", CPU_PORTABLE };

static bool has_avx512(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static bool has_vnni(void)
{
#if defined(__x86_64__)
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

static bool has_bf16(void)
{
#if defined(__x86_64__)
    return has_vnni() && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

/*
 * Whether VDPBF16PS multiplies more numbers than F32's multiply-add in the same time. No bit of
 * CPUID reports it: AMD's processors, from Zen 4 on, start as many of both; Intel's Emerald Rapids
 * starts a fourth as many.
 */
static bool has_fast_bf16(void)
{
#if defined(__x86_64__)
    return has_bf16() && __builtin_cpu_is("amd");
#else
    return false;
#endif
}

static bool has_avx2(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/*
 * Whether the CPU has NEON, a part of the base architecture: every 64-bit ARM processor under Linux
 * has it.
 */
static bool has_neon(void)
{
#if defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* The bits of AT_HWCAP and AT_HWCAP2; older headers lack the names. */
static bool has_dotprod(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return (getauxval(AT_HWCAP) >> 20 & 1) != 0; /* HWCAP_ASIMDDP */
#else
    return false;
#endif
}

static bool has_i8mm(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return has_dotprod() && (getauxval(AT_HWCAP2) >> 13 & 1) != 0; /* HWCAP2_I8MM */
#else
    return false;
#endif
}

const struct cpu_isa *cpu_isa_find(const char *name)
{
    bool any = strcmp(name, "auto") == 0;

    if (any ? has_fast_bf16() : strcmp(name, "bf16") == 0 && has_bf16())
        return &bf16;
    if ((any || strcmp(name, "vnni") == 0) && has_vnni())
        return &vnni;
    if ((any || strcmp(name, "avx512") == 0) && has_avx512())
        return &avx512;
    if ((any || strcmp(name, "avx2") == 0) && has_avx2())
        return &avx2;
    if ((any || strcmp(name, "i8mm") == 0) && has_i8mm())
        return &i8mm;
    if ((any || strcmp(name, "dotprod") == 0) && has_dotprod())
        return &dotprod;
    if ((any || strcmp(name, "neon") == 0) && has_neon())
        return &neon;
    return any || strcmp(name, "portable") == 0 ? &portable : NULL;
}
