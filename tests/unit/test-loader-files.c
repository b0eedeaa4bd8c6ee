/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "core/load/isa.h"
#include "core/load/note.h"
#include "fakes.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The checks of the loader before code of a file runs. */

/* ---- properties of a file -------------------------------------------------------------------- */

static void the_elf_note_is_checked_before_code_of_the_file_runs(void)
{
    static const struct {
        const char *fake, *stage, *reason, *hint;
    } table[] = {
        { "alpha", "ABI", "", "" },
        { "newer_minor", "ABI", "", "" },
        { "older_minor", "ABI", "", "" },
        { "no_descriptor", "ELF", "not a plugin of ferry: it has no descriptor",
          "use FERRY_PLUGIN(.name = …) in its source" },
        { "wrong_magic", "ABI", "its descriptor has no valid magic number", "" },
        { "short_size", "ABI", "its descriptor is too short: 24 bytes of 160", "" },
        { "huge_size", "ABI", "its descriptor claims 4294967280 bytes, its note has 160", "" },
        { "other_major", "ABI", "built for ABI 2, this ferry has 1",
          "rebuild the plugin against this ferry's headers" },
        { "newer_host", "ABI", "needs ABI 1.9 or newer, this ferry has 1.2",
          "install a newer ferry" },
        { "bad_name", "ABI", "its descriptor has no valid name",
          "names are [a-z][a-z0-9_-]*, up to 31 bytes" },
        { "cpu_features", "ABI", "compiled for CPU features that are missing here: bit 30",
          "rebuild the plugin for this CPU" },
        { "sanitizer", "ABI", "compiled with MemorySanitizer, the program is not",
          "build both the program and the plugin with it, or both without" },
    };
    const char *folder = fakes_folder();
    ferry_runtime *rt;

    fakes_track();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        fakes_put(folder, table[i].fake, NULL);
    rt = fakes_open(folder, NULL, NULL);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char file[64];

        snprintf(file, sizeof(file), "ferry_%s.so", table[i].fake);
        FAKES_ASSERT_LINE(rt, fakes_path(folder, file), table[i].stage, table[i].reason,
                          table[i].hint);
    }
    CU_ASSERT_STRING_EQUAL(fakes_tracked(), "");
    fakes_assert_works(rt, "alpha");
    fakes_assert_works(rt, "newer_minor");
    fakes_assert_works(rt, "older_minor");
    ferry_runtime_close(rt);
}

static const bool wide = sizeof(void *) > 4, big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static void a_file_that_is_not_a_shared_object_for_this_machine_is_refused(void)
{
    const char begun[] = { 127, 'E', 'L', 'F', wide ? 2 : 1, big ? 2 : 1, 1, 0 };
    const char *folder = fakes_folder();
    const char *good = fakes_put(folder, "alpha", NULL);
    const char *text = fakes_write(folder, "ferry_text.so", "#!/bin/sh\necho I am no plugin\n");
    const char *empty = fakes_write(folder, "ferry_empty.so", "");
    const char *shorter = fakes_write(folder, "ferry_short.so", begun);
    const char *half = fakes_put(folder, "alpha", "ferry_half.so");
    const char *machine = fakes_put(folder, "alpha", "ferry_machine.so");
    const char *narrow = fakes_put(folder, "alpha", "ferry_narrow.so");
    const char *other_end = fakes_put(folder, "alpha", "ferry_other_end.so");
    const char *folder_so = fakes_path(folder, "ferry_folder.so");
    const char *link = fakes_path(folder, "ferry_link.so");
    ferry_runtime *rt;
    struct stat st;

    CU_ASSERT_EQUAL_FATAL(stat(half, &st), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(half, st.st_size / 3), 0);
    fakes_poke(machine, offsetof(Elf64_Ehdr, e_machine), '\x7e');
    fakes_poke(narrow, EI_CLASS, wide ? ELFCLASS32 : ELFCLASS64);
    fakes_poke(other_end, EI_DATA, big ? ELFDATA2LSB : ELFDATA2MSB);
    CU_ASSERT_EQUAL_FATAL(mkdir(folder_so, 0755), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("nowhere", link), 0);

    rt = fakes_open(folder, NULL, NULL);
    FAKES_ASSERT_LINE(rt, good, "ABI", "", "");
    FAKES_ASSERT_LINE(rt, text, "ELF", "not a shared object: no ELF header", "");
    FAKES_ASSERT_LINE(rt, empty, "ELF", "not a shared object: it is empty", "");
    FAKES_ASSERT_LINE(rt, shorter, "ELF", "truncated: its ELF header ends early",
                      "copy the file again");
    FAKES_ASSERT_LINE(rt, half, "ELF", "truncated: it is shorter than its ELF header says",
                      "copy the file again");
    FAKES_ASSERT_LINE(rt, machine, "ELF", "built for another machine: ELF machine *",
                      "rebuild the plugin for this machine");
    FAKES_ASSERT_LINE(rt, narrow, "ELF",
                      wide ? "built for another machine: 32-bit, this program is 64-bit"
                           : "built for another machine: 64-bit, this program is 32-bit",
                      "rebuild the plugin for this machine");
    FAKES_ASSERT_LINE(rt, other_end, "ELF", "built for another machine: its byte order differs",
                      "rebuild the plugin for this machine");
    FAKES_ASSERT_LINE(rt, folder_so, "found", "not a file", "");
    FAKES_ASSERT_LINE(rt, link, "found", "No such file or directory", "");
    fakes_assert_works(rt, "alpha");
    ferry_runtime_close(rt);
}

/* Returns the offset of the value of the first entry with this tag, 0 if no entry has it. */
static size_t dynamic_value(const unsigned char *bytes, int64_t tag)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Phdr *p = (const void *)(bytes + header->e_phoff);
    const Elf64_Dyn *entry;

    while (p->p_type != PT_DYNAMIC)
        p++;
    for (entry = (const void *)(bytes + p->p_offset); entry->d_tag != tag; entry++)
        if (entry->d_tag == DT_NULL)
            return 0;
    return (size_t)((const unsigned char *)&entry->d_un - bytes);
}

/* Returns the offset of the header of the first segment of this type. */
static size_t segment(const unsigned char *bytes, uint32_t type)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Phdr *p = (const void *)(bytes + header->e_phoff);

    while (p->p_type != type)
        p++;
    return (size_t)((const unsigned char *)p - bytes);
}

/*
 * One wrong byte each: without these the search cannot determine the libraries that the file needs.
 */
static const struct damage {
    const char *reason;
    uint32_t segment; /* its header is changed; PT_NULL: the dynamic section */
    int64_t tag;      /* its value is changed there */
    int offset;
    char byte;
} damages[] = {
    { "it has no dynamic section", PT_DYNAMIC, 0, 0, PT_NULL },
    { "its dynamic section has no table of strings", PT_NULL, DT_STRTAB, 5, 1 },
    { "its dynamic section has no table of strings", PT_NULL, DT_STRSZ, 5, 1 },
};

static const char *put_damaged(const char *folder, const unsigned char *bytes, size_t i)
{
    const struct damage *d = &damages[i];
    size_t at = d->segment == PT_NULL ? dynamic_value(bytes, d->tag) : segment(bytes, d->segment);
    const char *path;
    char name[32];

    CU_ASSERT_FATAL(at > 0);
    snprintf(name, sizeof(name), "ferry_damage%zu.so", i);
    path = fakes_put(folder, "alpha", name);
    fakes_poke(path, at + (size_t)d->offset, d->byte);
    return path;
}

static void a_file_without_a_readable_dynamic_section_is_refused(void)
{
    static unsigned char bytes[1 << 20] __attribute__((aligned(16)));
    const char *paths[FERRY_TEST_COUNT(damages)], *folder = fakes_folder();
    FILE *file = fopen(fakes_put(folder, "alpha", NULL), "rb");
    size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    ferry_runtime *rt;

    CU_ASSERT_FATAL(size > sizeof(Elf64_Ehdr));
    fclose(file);
    if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB) {
        ferry_test_skip("it requires a 64-bit little-endian machine");
        return;
    }
    for (size_t i = 0; i < FERRY_TEST_COUNT(damages); i++)
        paths[i] = put_damaged(folder, bytes, i);
    rt = fakes_open(folder, NULL, NULL);
    for (size_t i = 0; i < FERRY_TEST_COUNT(damages); i++) {
        char reason[128];

        snprintf(reason, sizeof(reason), "damaged: %s", damages[i].reason);
        FAKES_ASSERT_LINE(rt, paths[i], "ELF", reason, "copy the file again");
    }
    fakes_assert_works(rt, "alpha");
    ferry_runtime_close(rt);
}

/* ---- instructions --------------------------------------------------------------------------- */

static void a_feature_counts_only_if_the_os_saves_its_registers(void)
{
    uint32_t avx = FERRY_CPU_AVX | FERRY_CPU_AVX2 | FERRY_CPU_FMA | FERRY_CPU_F16C;
    uint32_t avx512 = FERRY_CPU_AVX512F | FERRY_CPU_AVX512BW | FERRY_CPU_AVX512VL |
                      FERRY_CPU_AVX512DQ | FERRY_CPU_AVX512CD | FERRY_CPU_AVX512VNNI |
                      FERRY_CPU_AVX512BF16 | FERRY_CPU_AVX512FP16;
    const struct ferry__cpuid all = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u }, nothing = { 0 };
    uint32_t none = ferry__isa_decode(&all, 0x1);
    char names[100];

    CU_ASSERT_EQUAL(none & (avx | avx512), 0);
    CU_ASSERT(none & FERRY_CPU_SSE42);
    CU_ASSERT_EQUAL(ferry__isa_decode(&all, 0x2) & avx, 0);
    CU_ASSERT_EQUAL(ferry__isa_decode(&all, 0x7) & (avx | avx512), avx);
    CU_ASSERT_EQUAL(ferry__isa_decode(&all, 0xe7) & (avx | avx512), avx | avx512);
    CU_ASSERT_EQUAL(ferry__isa_decode(&nothing, 0xe7), 0);
    ferry__isa_names(FERRY_CPU_AVX2 | FERRY_CPU_SSE3, names, sizeof(names));
    CU_ASSERT_STRING_EQUAL(names, "SSE3, AVX2");
    ferry__isa_names(~0u, names, 8);
    CU_ASSERT_EQUAL(strlen(names), 7);
}

/* The words of cpuid in which each feature is one bit, and nothing else is set. */
static void each_feature_of_a_level_is_one_bit_of_cpuid(void)
{
    static const struct {
        struct ferry__cpuid words;
        uint32_t feature;
    } rows[] = {
        { { .extended1_ecx = 1u << 5 }, FERRY_CPU_LZCNT },
        { { .leaf7_ebx = 1u << 3 }, FERRY_CPU_BMI1 },
        { { .leaf1_ecx = 1u << 22 }, FERRY_CPU_MOVBE },
        { { .leaf7_ebx = 1u << 17 }, FERRY_CPU_AVX512DQ },
        { { .leaf7_ebx = 1u << 28 }, FERRY_CPU_AVX512CD },
        { { .leaf7_ecx = 1u << 11 }, FERRY_CPU_AVX512VNNI },
        { { .leaf7_1_eax = 1u << 5 }, FERRY_CPU_AVX512BF16 },
        { { .leaf7_edx = 1u << 23 }, FERRY_CPU_AVX512FP16 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(ferry__isa_decode(&rows[i].words, 0xe7), rows[i].feature);
}

/* ---- bytes that mean no good ---------------------------------------------------------------- */

static void every_prefix_of_a_plugin_is_refused_or_read_without_harm(void)
{
    const char *path = fakes_put(fakes_folder(), "alpha", NULL);
    unsigned char *bytes = malloc(1 << 20);
    struct ferry__self self = { .elf_class = wide ? ELFCLASS64 : ELFCLASS32,
                                .elf_data = big ? ELFDATA2MSB : ELFDATA2LSB,
                                .machine = EM_X86_64,
                                .abi_major = FERRY_ABI_MAJOR };
    FILE *file = fopen(path, "rb");
    bool was_whole = false; /* a complete file stays valid with more bytes after it */
    size_t size;

    CU_ASSERT_FATAL(file && bytes);
    size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    memcpy(&self.machine, bytes + 18, 2);
    for (size_t n = 0; n < size; n += n < 4096 ? 1 : 97) {
        unsigned char *copy = malloc(n + 1); /* exactly that long, for the sanitizer to check */
        struct ferry__bytes file_of = { .fd = -1, .memory = copy, .size = n };
        ferry_plugin_descriptor note;
        struct ferry__refusal refusal = { 0 };

        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, bytes, n);
        CU_ASSERT_FALSE(was_whole && ferry__note_read(&file_of, &self, &note, NULL, &refusal) != 0);
        was_whole = ferry__note_read(&file_of, &self, &note, NULL, &refusal) == 0;
        free(copy);
    }
    CU_ASSERT(was_whole);
    free(bytes);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_elf_note_is_checked_before_code_of_the_file_runs),
    FERRY_TEST(a_file_that_is_not_a_shared_object_for_this_machine_is_refused),
    FERRY_TEST(a_file_without_a_readable_dynamic_section_is_refused),
    FERRY_TEST(a_feature_counts_only_if_the_os_saves_its_registers),
    FERRY_TEST(each_feature_of_a_level_is_one_bit_of_cpuid),
    FERRY_TEST(every_prefix_of_a_plugin_is_refused_or_read_without_harm),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "loader-files", cases, FERRY_TEST_COUNT(cases));
}
