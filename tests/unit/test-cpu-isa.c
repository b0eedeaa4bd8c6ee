/* SPDX-License-Identifier: BSD-2-Clause */
#include "backends/cpu/isa.h"

#include "ferry-test.h"

#include <stddef.h>
#include <string.h>

/*
 * The instruction set that the CPU plugin selects, for the words of CPUID of processors that the
 * test describes.
 */

#define BIT(n) (UINT32_C(1) << (n))

/* Leaf 1's ECX: FMA, OSXSAVE and AVX. Leaf 7's EBX: AVX2; AVX-512 F, DQ, BW and VL. */
#define FMA_AVX  (BIT(12) | BIT(27) | BIT(28) | BIT(29)) /* and F16C */
#define AVX2     BIT(5)
#define AVX512   (BIT(16) | BIT(17) | BIT(30) | BIT(31))
#define VNNI     BIT(11) /* of leaf 7's ECX */
#define AVX_VNNI BIT(4)  /* of EAX of leaf 7, subleaf 1 */
#define BF16     BIT(5)
#define AMX      (BIT(22) | BIT(24) | BIT(25)) /* BF16, tiles and bytes, of leaf 7's EDX */
#define YMM      UINT64_C(0x07)                /* of XGETBV */
#define ZMM      UINT64_C(0xe7)
#define TILES    UINT64_C(0x600e7)

static const struct {
    const char *name;
    struct cpu_features f;
    const char *isa; /* of "auto" */
} processors[] = {
    { "without anything", { 0 }, "portable" },
    { "Sandy Bridge", { .leaf1_ecx = BIT(27) | BIT(28), .xcr0 = YMM }, "portable" },
    { "Haswell", { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2, .xcr0 = YMM }, "avx2" },
    { "Haswell whose system saves no YMM", { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2 },
      "portable" },
    { "AVX2 without FMA",
      { .leaf1_ecx = FMA_AVX & ~BIT(12), .leaf7_ebx = AVX2, .xcr0 = YMM },
      "portable" },
    { "AVX2 without F16C",
      { .leaf1_ecx = FMA_AVX & ~BIT(29), .leaf7_ebx = AVX2, .xcr0 = YMM },
      "portable" },
    { "Skylake-SP", { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2 | AVX512, .xcr0 = ZMM }, "avx512" },
    { "Skylake-SP whose system saves no ZMM",
      { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2 | AVX512, .leaf7_ecx = VNNI, .xcr0 = YMM },
      "avx2" },
    { "Knights Landing",
      { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2 | BIT(16), .xcr0 = ZMM },
      "avx2" },
    { "Cascade Lake",
      { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2 | AVX512, .leaf7_ecx = VNNI, .xcr0 = ZMM },
      "vnni" },
    { "Alder Lake",
      { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2, .leaf7_1_eax = AVX_VNNI, .xcr0 = YMM },
      "avxvnni" },
    { "Alder Lake whose system saves no YMM",
      { .leaf1_ecx = FMA_AVX, .leaf7_ebx = AVX2, .leaf7_1_eax = AVX_VNNI, .xcr0 = 3 },
      "portable" },
    { "Sapphire Rapids",
      { .leaf1_ecx = FMA_AVX,
        .leaf7_ebx = AVX2 | AVX512,
        .leaf7_ecx = VNNI,
        .leaf7_edx = AMX,
        .leaf7_1_eax = AVX_VNNI | BF16,
        .xcr0 = TILES },
      "vnni" },
    { "Sapphire Rapids whose system saves no tiles",
      { .leaf1_ecx = FMA_AVX,
        .leaf7_ebx = AVX2 | AVX512,
        .leaf7_ecx = VNNI,
        .leaf7_edx = AMX,
        .leaf7_1_eax = AVX_VNNI | BF16,
        .xcr0 = ZMM },
      "vnni" },
    { "Sapphire Rapids without products of tiles of bytes",
      { .leaf1_ecx = FMA_AVX,
        .leaf7_ebx = AVX2 | AVX512,
        .leaf7_ecx = VNNI,
        .leaf7_edx = AMX & ~BIT(25),
        .leaf7_1_eax = AVX_VNNI | BF16,
        .xcr0 = TILES },
      "vnni" },
    { "Zen 4",
      { .leaf1_ecx = FMA_AVX,
        .leaf7_ebx = AVX2 | AVX512,
        .leaf7_ecx = VNNI,
        .leaf7_1_eax = BF16,
        .xcr0 = ZMM,
        .is_amd = true },
      "bf16" },
    { "ARM", { .is_arm64 = true }, "neon" },
    { "ARM with dot products", { .is_arm64 = true, .hwcap = BIT(20) }, "dotprod" },
    { "ARM with products of matrices",
      { .is_arm64 = true, .hwcap = BIT(20), .hwcap2 = BIT(13) },
      "i8mm" },
    { "ARM with products of matrices only", { .is_arm64 = true, .hwcap2 = BIT(13) }, "neon" },
};

static void auto_selects_the_best_set_of_each_processor(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(processors); i++) {
        const struct cpu_isa *isa = cpu_isa_find("auto", &processors[i].f);

        CU_ASSERT_PTR_NOT_NULL_FATAL(isa);
        if (strcmp(isa->name, processors[i].isa) != 0)
            printf("     %s: %s, not %s\n", processors[i].name, isa->name, processors[i].isa);
        CU_ASSERT_STRING_EQUAL(isa->name, processors[i].isa);
    }
}

static const struct cpu_features *processor(const char *name)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(processors); i++)
        if (strcmp(processors[i].name, name) == 0)
            return &processors[i].f;
    CU_FAIL_FATAL("no such processor");
    return NULL;
}

/* The names that select a set, one after another. */
static void check_sets(const char *name, const char *want)
{
    static const char *const names[] = { "amx",  "bf16", "vnni",    "avx512", "avxvnni",
                                         "avx2", "i8mm", "dotprod", "neon",   "portable" };
    char got[100] = "";

    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        const struct cpu_isa *isa = cpu_isa_find(names[i], processor(name));

        if (!isa)
            continue;
        CU_ASSERT_STRING_EQUAL(isa->name, names[i]);
        strcat(strcat(got, " "), names[i]);
    }
    if (strcmp(got, want) != 0)
        printf("     %s:%s\n", name, got);
    CU_ASSERT_STRING_EQUAL(got, want);
}

static void a_name_selects_a_set_that_the_processor_has(void)
{
    check_sets("without anything", " portable");
    check_sets("Haswell", " avx2 portable");
    check_sets("Alder Lake", " avxvnni avx2 portable");
    check_sets("Alder Lake whose system saves no YMM", " portable");
    check_sets("Sapphire Rapids", " amx bf16 vnni avx512 avxvnni avx2 portable");
    check_sets("Sapphire Rapids whose system saves no tiles",
               " bf16 vnni avx512 avxvnni avx2 portable");
    check_sets("Sapphire Rapids without products of tiles of bytes",
               " bf16 vnni avx512 avxvnni avx2 portable");
    check_sets("Zen 4", " bf16 vnni avx512 avx2 portable");
    check_sets("ARM with products of matrices", " i8mm dotprod neon portable");
    CU_ASSERT_PTR_NULL(cpu_isa_find("avx", processor("Zen 4")));
    CU_ASSERT_PTR_NULL(cpu_isa_find("", processor("Zen 4")));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(auto_selects_the_best_set_of_each_processor),
    FERRY_TEST(a_name_selects_a_set_that_the_processor_has),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "test-cpu-isa", cases, FERRY_TEST_COUNT(cases));
}
