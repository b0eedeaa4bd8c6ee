/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cpu.h"

#include "common/blocks.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64u

/* The minimum size of blocks that request huge pages, and start at one. */
#define HUGE_BYTES (UINT64_C(2) << 20)
#define HUGE_PAGE  (UINT64_C(2) << 20)
#define PAGE       UINT64_C(4096)

/* The header directly before a block, because free only gets the block's address. */
struct header {
    _Alignas(16) void *base; /* the pointer from malloc or mmap */
    uint64_t bytes;          /* the requested size of the block */
};

/*
 * The maximum number of bytes before a block, if malloc's own alignment is 8, as on some machines.
 */
#define BEFORE_BLOCK (sizeof(struct header) + ALIGNMENT - _Alignof(max_align_t))

static struct header *header_of(void *handle)
{
    return (struct header *)((char *)handle - sizeof(struct header));
}

/* The first multiple of `alignment` with room for a header before it. */
static char *first_aligned(char *base, uint64_t alignment)
{
    uintptr_t least = (uintptr_t)base + sizeof(struct header);

    return base + ((least + alignment - 1) / alignment * alignment - (uintptr_t)base);
}

static uint64_t large_alignment(uint64_t bytes)
{
    return bytes >= HUGE_BYTES ? HUGE_PAGE : PAGE;
}

static size_t mapped_bytes(uint64_t bytes)
{
    return (size_t)(bytes + large_alignment(bytes) + FERRY__BLOCK_PLACES * FERRY__BLOCK_STEP +
                    PAGE - 1) /
           PAGE * PAGE;
}

/* The offset of a new block from the first possible address. */
static uint64_t next_place(struct cpu_device *d, uint64_t bytes)
{
    if (bytes < FERRY__BLOCK_SPREAD)
        return 0;
    return atomic_fetch_add_explicit(&d->next_place, 1, memory_order_relaxed) %
           FERRY__BLOCK_PLACES * FERRY__BLOCK_STEP;
}

static void *alloc_small(uint64_t bytes, uint64_t place)
{
    char *base = malloc((size_t)(bytes + BEFORE_BLOCK + place));
    char *handle;

    if (!base)
        return NULL;
    handle = first_aligned(base, ALIGNMENT) + place;
    *header_of(handle) = (struct header){ base, bytes };
    return handle;
}

static void *alloc_large(uint64_t bytes, uint64_t place)
{
    uint64_t alignment = large_alignment(bytes);
    char *base =
        mmap(NULL, mapped_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *handle;

    if (base == MAP_FAILED)
        return NULL;
    handle = first_aligned(base, alignment);
    if (alignment == HUGE_PAGE) /* if the system refuses, small pages are used */
        (void)madvise(handle, (size_t)(bytes / HUGE_PAGE * HUGE_PAGE), MADV_HUGEPAGE);
    handle += place;
    *header_of(handle) = (struct header){ base, bytes };
    return handle;
}

int cpu_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags)
{
    struct cpu_device *d = dev;
    bool large = bytes >= FERRY__BLOCK_PAGES;
    uint64_t place;
    void *handle;

    (void)queue;
    (void)flags;
    if (bytes > d->max_alloc)
        return cpu_host->error(FERRY_ENOMEM,
                               "%" PRIu64 " bytes; this machine's memory has %" PRIu64, bytes,
                               d->max_alloc);
    place = next_place(d, bytes);
    handle = large ? alloc_large(bytes, place) : alloc_small(bytes, place);
    if (!handle)
        return cpu_host->error(FERRY_ENOMEM, "%s of %" PRIu64 " bytes failed",
                               large ? "mmap" : "malloc", bytes);
    cpu_count(&d->counts.live_blocks, 1);
    cpu_count(&d->counts.live_bytes, bytes);
    *out_handle = handle;
    *out_flags = large ? FERRY_ALLOC_WAS_ZEROED : 0;
    return 0;
}

int cpu_free(void *dev, void *queue, void *handle)
{
    struct cpu_device *d = dev;
    struct header header = *header_of(handle);

    (void)queue;
    if (header.bytes < FERRY__BLOCK_PAGES)
        free(header.base);
    else if (munmap(header.base, mapped_bytes(header.bytes)) != 0)
        return cpu_host->error(FERRY_EDEVICE, "munmap of %" PRIu64 " bytes failed", header.bytes);
    cpu_count(&d->counts.live_blocks, UINT64_MAX);
    cpu_count(&d->counts.live_bytes, 0 - header.bytes);
    return 0;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

struct bytes {
    char *dst;
    const char *src;
    int byte;
};

static void copy_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct bytes *b = arg;

    (void)piece;
    memcpy(b->dst + first, b->src + first, (size_t)count);
}

static void set_piece(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct bytes *b = arg;

    (void)piece;
    memset(b->dst + first, b->byte, (size_t)count);
}

void cpu_copy_bytes(struct cpu_device *d, void *dst, const void *src, int64_t bytes)
{
    struct bytes b = { dst, src, 0 };

    workers_run(d->workers, bytes, workers_piece(bytes, 2), copy_piece, &b);
}

static bool overlap(const char *a, const char *b, uint64_t bytes)
{
    return (uintptr_t)a < (uintptr_t)b + bytes && (uintptr_t)b < (uintptr_t)a + bytes;
}

int cpu_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src, uint64_t bytes)
{
    struct cpu_device *d = dev;
    char *to = cpu_pointer(dst);
    const char *from = cpu_const_pointer(src);

    (void)queue;
    if (kind < FERRY_MEMCPY_H2D || kind > FERRY_MEMCPY_D2D)
        return cpu_host->error(FERRY_EINVAL, "%" PRIu32 " is not a kind of memcpy", kind);
    if (overlap(to, from, bytes))
        memmove(to, from, (size_t)bytes);
    else
        cpu_copy_bytes(d, to, from, (int64_t)bytes);
    cpu_count(&d->counts.copies[kind - 1], 1);
    cpu_count(&d->counts.bytes[kind - 1], bytes);
    return 0;
}

int cpu_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    struct cpu_device *d = dev;
    struct bytes b = { cpu_pointer(dst), NULL, (int)(byte & 0xffu) };

    (void)queue;
    workers_run(d->workers, (int64_t)bytes, workers_piece((int64_t)bytes, 1), set_piece, &b);
    cpu_count(&d->counts.memsets, 1);
    return 0;
}
