/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* The resources of a process, and whether they grow. */

/*
 * The number of rounds. A leak makes the process grow in every round. Without a leak, there is
 * growth in some rounds only, for example by an allocation that serves many calls.
 */
#define ROUNDS 24

/*
 * The number of rounds whose growth counts immediately. Some drivers free on threads of their own,
 * shortly after the call; in later rounds growth is measured up to LOOKS times, milliseconds apart.
 */
#define HASTY 8
#define LOOKS 4
#define PAUSE 10000 /* microseconds */

/* From the malloc of a sanitizer, if the program has one. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Bytes that are allocated and not freed: a leak of one byte is visible. */
static uint64_t heap_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes)
        return __sanitizer_get_current_allocated_bytes();
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

/* Pages of the address space, and the resident ones. */
static void pages(struct kit_footprint *out)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long size = 0, resident = 0;

    if (file && fscanf(file, "%lu %lu", &size, &resident) != 2)
        size = resident = 0;
    if (file)
        fclose(file);
    out->mapped = (uint64_t)size * (uint64_t)sysconf(_SC_PAGESIZE);
    out->resident = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int entries_of(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

void kit_footprint(struct kit_footprint *out)
{
    out->threads = entries_of("/proc/self/task");
    out->files = entries_of("/proc/self/fd");
    pages(out);
    out->heap = heap_bytes();
    out->memory = 0;
}

/* A mapping's name in /proc/self/smaps: true for a file on a disk, not for shared memory. */
static bool is_on_disk(const char *name)
{
    static const char *const memory[] = { "/memfd:", "/dev/", "/SYSV", "/anon_hugepage" };

    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
        if (strncmp(name, memory[i], strlen(memory[i])) == 0)
            return false;
    return name[0] == '/';
}

/*
 * Resident bytes, except those of files on a disk; `otherwise` if the system does not report them.
 */
static uint64_t memory_bytes(uint64_t otherwise)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    bool counts = false, seen = false;
    unsigned long kib, begin, end;
    uint64_t bytes = 0;
    char line[512];
    int name = 0;

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &begin, &end, &name) == 2) {
            counts = !is_on_disk(line + name);
            seen = true;
        } else if (counts && sscanf(line, "Rss: %lu", &kib) == 1) {
            bytes += (uint64_t)kib << 10;
        }
    }
    if (file)
        fclose(file);
    return seen ? bytes : otherwise;
}

void kit_footprint_with_memory(struct kit_footprint *out)
{
    kit_footprint(out);
    out->memory = memory_bytes(out->resident);
}

/* The growth from `before` to `after`. */
static struct kit_footprint growth(const struct kit_footprint *before,
                                   const struct kit_footprint *after)
{
#define MORE(member) .member = after->member > before->member ? after->member - before->member : 0
    return (struct kit_footprint){ MORE(heap), MORE(mapped), MORE(resident), MORE(threads),
                                   MORE(files) };
#undef MORE
}

/*
 * A byte of the heap, or a page, for each iteration. A sanitizer keeps freed memory, and maps more.
 */
static bool is_leak(const struct kit_footprint *grown, uint64_t times)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return grown->heap >= times || grown->threads > 0 || grown->files > 0 ||
           (!KIT_SANITIZED && (grown->resident >= times * page || grown->mapped >= times * page));
}

/* Runs one round; returns whether the growth is that of a leak. */
static bool grows(void (*once)(void), int times, int looks, struct kit_footprint *grown)
{
    struct kit_footprint before, after;

    kit_footprint(&before);
    for (int i = 0; i < times; i++)
        once();
    for (int look = 0; look < looks; look++) {
        if (look > 0)
            usleep(PAUSE);
        kit_footprint(&after);
        *grown = growth(&before, &after);
        if (!is_leak(grown, (uint64_t)times))
            return false;
    }
    return true;
}

/*
 * Growth in only some rounds is not a leak: caches, and allocations of a vendor's library at its
 * first use.
 */
void kit_does_not_grow(const char *what, void (*once)(void), int times)
{
    struct kit_footprint grown = { .heap = 0 };

    kit_case("%d times %s", times, what);
    for (int i = 0; i < times; i++)
        once();
    for (int round = 0; round < ROUNDS; round++)
        if (!grows(once, times, round < HASTY ? 1 : LOOKS, &grown))
            return;
    kit_fail("the process grew by %" PRIu64 " bytes of the heap, %" PRIu64
             " KiB of its address space, %" PRIu64 " KiB of them touched, %d threads and %d open "
             "files, in each round",
             grown.heap, grown.mapped >> 10, grown.resident >> 10, grown.threads, grown.files);
}
