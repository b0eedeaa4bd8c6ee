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

uint32_t ferry__isa_decode(const struct ferry__cpuid *words, uint64_t xcr0)
{
    enum { NEEDS_NONE = 0, NEEDS_AVX = 1, NEEDS_AVX512 = 2 };
    const struct {
        uint32_t feature, word;
        unsigned bit;
        int needs;
    } table[] = {
        { FERRY_CPU_SSE3, words->leaf1_ecx, 0, NEEDS_NONE },
        { FERRY_CPU_SSSE3, words->leaf1_ecx, 9, NEEDS_NONE },
        { FERRY_CPU_SSE41, words->leaf1_ecx, 19, NEEDS_NONE },
        { FERRY_CPU_SSE42, words->leaf1_ecx, 20, NEEDS_NONE },
        { FERRY_CPU_MOVBE, words->leaf1_ecx, 22, NEEDS_NONE },
        { FERRY_CPU_POPCNT, words->leaf1_ecx, 23, NEEDS_NONE },
        { FERRY_CPU_LZCNT, words->extended1_ecx, 5, NEEDS_NONE },
        { FERRY_CPU_BMI1, words->leaf7_ebx, 3, NEEDS_NONE },
        { FERRY_CPU_BMI2, words->leaf7_ebx, 8, NEEDS_NONE },
        { FERRY_CPU_FMA, words->leaf1_ecx, 12, NEEDS_AVX },
        { FERRY_CPU_AVX, words->leaf1_ecx, 28, NEEDS_AVX },
        { FERRY_CPU_F16C, words->leaf1_ecx, 29, NEEDS_AVX },
        { FERRY_CPU_AVX2, words->leaf7_ebx, 5, NEEDS_AVX },
        { FERRY_CPU_AVX512F, words->leaf7_ebx, 16, NEEDS_AVX512 },
        { FERRY_CPU_AVX512DQ, words->leaf7_ebx, 17, NEEDS_AVX512 },
        { FERRY_CPU_AVX512CD, words->leaf7_ebx, 28, NEEDS_AVX512 },
        { FERRY_CPU_AVX512BW, words->leaf7_ebx, 30, NEEDS_AVX512 },
        { FERRY_CPU_AVX512VL, words->leaf7_ebx, 31, NEEDS_AVX512 },
        { FERRY_CPU_AVX512VNNI, words->leaf7_ecx, 11, NEEDS_AVX512 },
        { FERRY_CPU_AVX512FP16, words->leaf7_edx, 23, NEEDS_AVX512 },
        { FERRY_CPU_AVX512BF16, words->leaf7_1_eax, 5, NEEDS_AVX512 },
    };
    int enabled = NEEDS_NONE;
    uint32_t features = 0;

    if ((xcr0 & XCR0_AVX) == XCR0_AVX)
        enabled = (xcr0 & XCR0_AVX512) == XCR0_AVX512 ? NEEDS_AVX512 : NEEDS_AVX;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if ((table[i].word & BIT(table[i].bit)) && table[i].needs <= enabled)
            features |= table[i].feature;
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

/* A leaf beyond the CPU's last one has no bits. */
static void read_leaf(unsigned leaf, unsigned subleaf, uint32_t out[4])
{
    unsigned most = (unsigned)__get_cpuid_max(leaf & UINT32_C(0x80000000), NULL);

    memset(out, 0, 4 * sizeof(out[0]));
    if (most >= leaf && most)
        __cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
}

uint32_t ferry__isa_features(void)
{
    uint32_t one[4], seven[4], seven_1[4] = { 0 }, extended[4];
    struct ferry__cpuid words;
    uint64_t xcr0 = 0;

    read_leaf(1, 0, one);
    read_leaf(7, 0, seven);
    if (seven[0] >= 1) /* the last subleaf */
        read_leaf(7, 1, seven_1);
    read_leaf(UINT32_C(0x80000001), 0, extended);
    if (one[2] & LEAF1_OSXSAVE)
        xcr0 = read_xcr0();
    words = (struct ferry__cpuid){ .leaf1_ecx = one[2],
                                   .leaf7_ebx = seven[1],
                                   .leaf7_ecx = seven[2],
                                   .leaf7_edx = seven[3],
                                   .leaf7_1_eax = seven_1[0],
                                   .extended1_ecx = extended[2] };
    return ferry__isa_decode(&words, xcr0);
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
        { FERRY_CPU_SSE3, "SSE3" },
        { FERRY_CPU_SSSE3, "SSSE3" },
        { FERRY_CPU_SSE41, "SSE4.1" },
        { FERRY_CPU_SSE42, "SSE4.2" },
        { FERRY_CPU_POPCNT, "POPCNT" },
        { FERRY_CPU_AVX, "AVX" },
        { FERRY_CPU_F16C, "F16C" },
        { FERRY_CPU_FMA, "FMA" },
        { FERRY_CPU_BMI2, "BMI2" },
        { FERRY_CPU_AVX2, "AVX2" },
        { FERRY_CPU_AVX512F, "AVX512F" },
        { FERRY_CPU_AVX512BW, "AVX512BW" },
        { FERRY_CPU_AVX512VL, "AVX512VL" },
        { FERRY_CPU_LZCNT, "LZCNT" },
        { FERRY_CPU_BMI1, "BMI1" },
        { FERRY_CPU_MOVBE, "MOVBE" },
        { FERRY_CPU_SVE, "SVE" },
        { FERRY_CPU_AVX512DQ, "AVX512DQ" },
        { FERRY_CPU_AVX512CD, "AVX512CD" },
        { FERRY_CPU_AVX512VNNI, "AVX512VNNI" },
        { FERRY_CPU_AVX512BF16, "AVX512BF16" },
        { FERRY_CPU_AVX512FP16, "AVX512FP16" },
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
