/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/isa.h"
#include "core/base/os_posix.h"

#include <ferry/descriptor.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define BIT(n) (UINT32_C(1) << (n))

#define XCR0_AVX    UINT64_C(0x06) /* the OS saves SSE and AVX registers */
#define XCR0_AVX512 UINT64_C(0xe6) /* the OS also saves masks, and both parts of ZMM registers */

uint32_t ferry__isa_decode(uint32_t leaf1_ecx, uint32_t leaf7_ebx, uint64_t xcr0)
{
    enum { NEEDS_NONE = 0, NEEDS_AVX = 1, NEEDS_AVX512 = 2 };
    static const struct {
        uint32_t feature;
        unsigned leaf, bit;
        int needs;
    } table[] = {
        { FERRY_CPU_SSE3, 1, 0, NEEDS_NONE },        { FERRY_CPU_SSSE3, 1, 9, NEEDS_NONE },
        { FERRY_CPU_SSE41, 1, 19, NEEDS_NONE },      { FERRY_CPU_SSE42, 1, 20, NEEDS_NONE },
        { FERRY_CPU_POPCNT, 1, 23, NEEDS_NONE },     { FERRY_CPU_AVX, 1, 28, NEEDS_AVX },
        { FERRY_CPU_F16C, 1, 29, NEEDS_AVX },        { FERRY_CPU_FMA, 1, 12, NEEDS_AVX },
        { FERRY_CPU_BMI2, 7, 8, NEEDS_NONE },        { FERRY_CPU_AVX2, 7, 5, NEEDS_AVX },
        { FERRY_CPU_AVX512F, 7, 16, NEEDS_AVX512 },  { FERRY_CPU_AVX512BW, 7, 30, NEEDS_AVX512 },
        { FERRY_CPU_AVX512VL, 7, 31, NEEDS_AVX512 },
    };
    int enabled = NEEDS_NONE;
    uint32_t features = 0;

    if ((xcr0 & XCR0_AVX) == XCR0_AVX)
        enabled = (xcr0 & XCR0_AVX512) == XCR0_AVX512 ? NEEDS_AVX512 : NEEDS_AVX;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint32_t word = table[i].leaf == 1 ? leaf1_ecx : leaf7_ebx;

        if ((word & BIT(table[i].bit)) && table[i].needs <= enabled)
            features |= table[i].feature;
    }
    return features;
}

#if defined(__x86_64__) || defined(__i386__)

#define LEAF1_OSXSAVE BIT(27)

static uint64_t read_xcr0(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

uint32_t ferry__isa_features(void)
{
    unsigned eax, ebx, ecx, edx, leaf1 = 0, leaf7 = 0;
    unsigned leaves = (unsigned)__get_cpuid_max(0, NULL);
    uint64_t xcr0 = 0;

    if (leaves >= 1) {
        __cpuid(1, eax, ebx, ecx, edx);
        leaf1 = ecx;
    }
    if (leaf1 & LEAF1_OSXSAVE)
        xcr0 = read_xcr0();
    if (leaves >= 7) {
        __cpuid_count(7, 0, eax, ebx, ecx, edx);
        leaf7 = ebx;
    }
    return ferry__isa_decode(leaf1, leaf7, xcr0);
}

#else

uint32_t ferry__isa_features(void)
{
    return ferry__os_isa_features();
}

#endif

static const char *feature_name(uint32_t feature)
{
    static const struct {
        uint32_t feature;
        const char *name;
    } names[] = {
        { FERRY_CPU_SSE3, "SSE3" },         { FERRY_CPU_SSSE3, "SSSE3" },
        { FERRY_CPU_SSE41, "SSE4.1" },      { FERRY_CPU_SSE42, "SSE4.2" },
        { FERRY_CPU_POPCNT, "POPCNT" },     { FERRY_CPU_AVX, "AVX" },
        { FERRY_CPU_F16C, "F16C" },         { FERRY_CPU_FMA, "FMA" },
        { FERRY_CPU_BMI2, "BMI2" },         { FERRY_CPU_AVX2, "AVX2" },
        { FERRY_CPU_AVX512F, "AVX512F" },   { FERRY_CPU_AVX512BW, "AVX512BW" },
        { FERRY_CPU_AVX512VL, "AVX512VL" }, { FERRY_CPU_SVE, "SVE" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].feature == feature)
            return names[i].name;
    return NULL;
}

void ferry__isa_names(uint32_t features, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (unsigned bit = 0; bit < 32 && used < size; bit++) {
        const char *name = feature_name(BIT(bit));
        const char *comma = used ? ", " : "";
        int length;

        if (!(features & BIT(bit)))
            continue;
        length = name ? snprintf(out + used, size - used, "%s%s", comma, name)
                      : snprintf(out + used, size - used, "%sbit %u", comma, bit);
        used += length > 0 ? (size_t)length : 0;
    }
}
