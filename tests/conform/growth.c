/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* What a process has, and whether it grows. */

#define ROUNDS 3

/* Of a sanitizer's malloc, where there is one. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Bytes that are allocated and not freed: a leak of one byte shows. */
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

static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long size = 0, resident = 0;

    if (file && fscanf(file, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
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
    out->resident = resident_bytes();
    out->heap = heap_bytes();
}

static int64_t grown(uint64_t before, uint64_t after)
{
    return after > before ? (int64_t)(after - before) : 0;
}

/* Whatever grows but once is no leak: caches, and what a vendor's library makes when first used. */
void kit_does_not_grow(const char *what, void (*once)(void), int times, uint64_t least)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) * (uint64_t)times;
    struct kit_footprint before, after;
    uint64_t heap = 0, resident = 0;

    kit_case("%d times %s", times, what);
    for (int i = 0; i < times; i++)
        once();
    for (int round = 0; round < ROUNDS; round++) {
        kit_footprint(&before);
        for (int i = 0; i < times; i++)
            once();
        kit_footprint(&after);
        heap = (uint64_t)grown(before.heap, after.heap);
        resident = (uint64_t)grown(before.resident, after.resident);
        if (heap < least && (KIT_SANITIZED || resident < page))
            return;
    }
    kit_fail("the process has grown by %" PRIu64 " bytes of the heap, %" PRIu64
             " KiB in all, each time that was done",
             heap, resident >> 10);
}
