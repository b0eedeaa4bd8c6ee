/* SPDX-License-Identifier: BSD-2-Clause */
#include "isa.h"

#include <stddef.h>
#include <string.h>

/* The registers that the operating system has to save: YMM; also masks, and both parts of ZMM. */
#define XCR0_AVX    UINT64_C(0x06)
#define XCR0_AVX512 UINT64_C(0xe6)
#define XCR0_AMX    UINT64_C(0x60000) /* the configuration of tiles, and their data */

static bool has_bits(uint64_t word, uint64_t bits)
{
    return (word & bits) == bits;
}

#define BIT(n) (UINT64_C(1) << (n))

static bool has_avx2(const struct cpu_features *f)
{
    const uint64_t fma_avx_f16c = BIT(12) | BIT(28) | BIT(29);

    return has_bits(f->xcr0, XCR0_AVX) && has_bits(f->leaf1_ecx, fma_avx_f16c) &&
           has_bits(f->leaf7_ebx, BIT(5));
}

static bool has_avxvnni(const struct cpu_features *f)
{
    return has_avx2(f) && has_bits(f->leaf7_1_eax, BIT(4));
}

/* AVX-512 F, DQ, BW and VL. */
static bool has_avx512(const struct cpu_features *f)
{
    return has_avx2(f) && has_bits(f->xcr0, XCR0_AVX512) &&
           has_bits(f->leaf7_ebx, BIT(16) | BIT(17) | BIT(30) | BIT(31));
}

static bool has_vnni(const struct cpu_features *f)
{
    return has_avx512(f) && has_bits(f->leaf7_ecx, BIT(11));
}

static bool has_bf16(const struct cpu_features *f)
{
    return has_vnni(f) && has_bits(f->leaf7_1_eax, BIT(5));
}

/*
 * AMX multiplies 8-bit integers; all other loops are those of avx512, and VDPBF16PS is not used.
 * Every processor with AMX has bf16's instructions.
 */
static bool has_amx(const struct cpu_features *f)
{
    const uint64_t bf16_tile_int8 = BIT(22) | BIT(24) | BIT(25);

    return has_bf16(f) && has_bits(f->xcr0, XCR0_AMX) && has_bits(f->leaf7_edx, bf16_tile_int8);
}

/* A part of the base architecture: every 64-bit ARM processor under Linux has it. */
static bool has_neon(const struct cpu_features *f)
{
    return f->is_arm64;
}

/* The bits of AT_HWCAP and AT_HWCAP2; older headers lack the names. */
static bool has_dotprod(const struct cpu_features *f)
{
    return f->is_arm64 && has_bits(f->hwcap, BIT(20)); /* HWCAP_ASIMDDP */
}

static bool has_i8mm(const struct cpu_features *f)
{
    return has_dotprod(f) && has_bits(f->hwcap2, BIT(13)); /* HWCAP2_I8MM */
}

static bool has_portable(const struct cpu_features *f)
{
    (void)f;
    return true;
}

/* The best set first. */
static const struct {
    struct cpu_isa isa;
    bool (*has)(const struct cpu_features *f);
} sets[] = {
    { { "amx", CPU_AMX }, has_amx },
    { { "bf16", CPU_BF16 }, has_bf16 },          { { "vnni", CPU_VNNI }, has_vnni },
    { { "avx512", CPU_AVX512 }, has_avx512 },    { { "avxvnni", CPU_AVXVNNI }, has_avxvnni },
    { { "avx2", CPU_AVX2 }, has_avx2 },          { { "i8mm", CPU_I8MM }, has_i8mm },
    { { "dotprod", CPU_DOTPROD }, has_dotprod }, { { "neon", CPU_NEON }, has_neon },
    { { "portable", CPU_PORTABLE }, has_portable }
};

/*
 * Whether "auto" may select the set. VDPBF16PS multiplies more numbers than F32's multiply-add in
 * the same time on some processors only, which no bit of CPUID reports: AMD's, from Zen 4 on, start
 * as many of both; Intel's Emerald Rapids starts a fourth as many. The products by AMX have been
 * computed by a model of its instructions only.
 */
static bool is_automatic(const struct cpu_isa *isa, const struct cpu_features *f)
{
    return isa->set != CPU_AMX && (isa->set != CPU_BF16 || f->is_amd);
}

const struct cpu_isa *cpu_isa_find(const char *name, const struct cpu_features *f)
{
    bool any = strcmp(name, "auto") == 0;

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        if ((any ? is_automatic(&sets[i].isa, f) : strcmp(name, sets[i].isa.name) == 0) &&
            sets[i].has(f))
            return &sets[i].isa;
    return NULL;
}
