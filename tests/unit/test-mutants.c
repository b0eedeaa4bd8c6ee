/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fakes.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Copies of a plugin with one or two wrong bytes in what the dynamic linker goes by. Each is opened in
 * a process of its own: it is refused, or it works, and never takes the program along.
 */

#define MUTANTS 400
#define LONG    2000 /* with FERRY_TEST_LONG */

enum outcome { WORKS, REFUSED, CRASHES, HANGS, OUTCOMES };

struct region {
    char name[24];
    size_t offset, size;
    unsigned count[OUTCOMES];
};

static unsigned char bytes[1 << 20];
static size_t length;
static struct region regions[24];
static size_t region_count;

static void add_region(const char *name, size_t offset, size_t size)
{
    struct region *r = &regions[region_count];

    CU_ASSERT_FATAL(offset + size <= length);
    if (size == 0 || region_count == FERRY_TEST_COUNT(regions))
        return;
    snprintf(r->name, sizeof(r->name), "%s", name);
    r->offset = offset;
    r->size = size;
    region_count++;
}

/* Headers, and the sections that are read before, or in order that, a line of the plugin runs. */
static void find_regions(void)
{
    static const char *const names[] = { ".note.ferry",    ".dynamic",     ".dynsym",   ".dynstr",
                                         ".gnu.hash",      ".gnu.version", ".rela.dyn", ".rela.plt",
                                         ".gnu.version_r", ".init_array",  ".hash" };
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Shdr *s = (const void *)(bytes + header->e_shoff);
    const char *strings = (const char *)bytes + s[header->e_shstrndx].sh_offset;

    add_region("header", 0, sizeof(*header));
    add_region("segments", header->e_phoff, (size_t)header->e_phnum * header->e_phentsize);
    for (unsigned i = 0; i < header->e_shnum; i++)
        for (size_t k = 0; k < FERRY_TEST_COUNT(names); k++)
            if (strcmp(strings + s[i].sh_name, names[k]) == 0)
                add_region(names[k], s[i].sh_offset, s[i].sh_size);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Writes mutant number `n` over the file at `path`; where its first wrong byte is. */
static struct region *write_mutant(const char *path, unsigned n)
{
    static const unsigned char favourites[] = { 0, 0xff, 0x80, 1, 0x7f };
    static unsigned char mutant[sizeof(bytes)];
    uint64_t state = n * UINT64_C(2654435761) + 17;
    struct region *first = &regions[next_random(&state) % region_count];
    unsigned changes = 1 + (unsigned)(next_random(&state) % 2);
    FILE *file;

    memcpy(mutant, bytes, length);
    for (unsigned i = 0; i < changes; i++) {
        unsigned char *at = mutant + first->offset + next_random(&state) % first->size;
        unsigned kind = (unsigned)(next_random(&state) % 3);

        *at = kind == 0   ? *at ^ (unsigned char)(1u << next_random(&state) % 8)
              : kind == 1 ? favourites[next_random(&state) % sizeof(favourites)]
                          : (unsigned char)next_random(&state);
    }
    unlink(path);
    file = fopen(path, "wb");
    CU_ASSERT_FATAL(file && fwrite(mutant, 1, length, file) == length && fclose(file) == 0);
    return first;
}

static void open_mutant(const char *folder)
{
    struct rlimit none = { 0, 0 };
    ferry_runtime *rt;
    ferry_device *dev;
    int count;

    setrlimit(RLIMIT_CORE, &none);
    if (!freopen("/dev/null", "w", stderr))
        _exit(2);
    alarm(60);
    rt = fakes_open(folder, NULL, NULL);
    if (ferry_runtime_enumerate(rt, &count) != 0 || count == 0 ||
        ferry_runtime_device(rt, "alpha", &dev) != 0)
        _exit(1);
    ferry_runtime_close(rt);
    _exit(0);
}

static enum outcome try_mutant(const char *folder)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        open_mutant(folder);
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == 0 ? WORKS : REFUSED;
    return WTERMSIG(status) == SIGALRM ? HANGS : CRASHES;
}

/* A relocation that leads to another place of the plugin is as good as any to all but its author. */
static int is_beyond_us(const struct region *r)
{
    return strncmp(r->name, ".rela", 5) == 0;
}

static void no_mutant_takes_the_program_along(void)
{
    const char *more = getenv("FERRY_TEST_LONG"), *only = getenv("FERRY_TEST_MUTANT");
    unsigned mutants = more && *more ? LONG : MUTANTS;
    const char *folder = fakes_folder(), *path = fakes_put(folder, "alpha", NULL);
    unsigned bad = 0, excepted = 0;
    FILE *file = fopen(path, "rb");

    CU_ASSERT_FATAL(file != NULL);
    length = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    find_regions();
    for (unsigned n = only ? (unsigned)atoi(only) : 0; n < mutants || only; n++) {
        struct region *r = write_mutant(path, n);
        enum outcome outcome = try_mutant(folder);

        r->count[outcome]++;
        if (outcome >= CRASHES) {
            *(is_beyond_us(r) ? &excepted : &bad) += 1;
            if (!is_beyond_us(r))
                printf("mutant %u, in %s, %s\n", n, r->name,
                       outcome == HANGS ? "hangs" : "crashes");
        }
        if (only)
            break;
    }
    for (size_t i = 0; i < region_count; i++)
        printf("%-15s %4u work, %4u refused, %4u crash, %u hang\n", regions[i].name,
               regions[i].count[WORKS], regions[i].count[REFUSED], regions[i].count[CRASHES],
               regions[i].count[HANGS]);
    printf("%u mutants: %u crash or hang, and %u by a relocation\n", mutants, bad, excepted);
    CU_ASSERT_EQUAL(bad, 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(no_mutant_takes_the_program_along),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "mutants", cases, FERRY_TEST_COUNT(cases));
}
