/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's address space. Handles are addresses of a range without access permission, so a host
 * program that dereferences one crashes at once; the bytes are stored elsewhere. Addresses are
 * assigned upward with gaps between them and are reused only after the whole range has been used.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRAIN    UINT64_C(256)
/* the number of freed handles that are remembered, to report their misuse as such */
#define REMEMBER 4096u

/* The part of the range that a block takes: its size and a gap. */
static uint64_t span_of(uint64_t bytes)
{
    return (bytes + GRAIN - 1) / GRAIN * GRAIN + GRAIN;
}

/* Sixteen times the memory, so that freed addresses are reused late; less on 32 bits. */
static uint64_t range_of(uint64_t memory)
{
    const uint64_t least = UINT64_C(1) << 30, most = UINT64_C(1) << 44;

    if (sizeof(void *) < 8)
        return memory * 4;
    if (memory > most / 16)
        return most;
    return memory * 16 < least ? least : memory * 16;
}

int sim_arena_open(struct sim_arena *arena, uint64_t memory, struct sim_why *why)
{
    uint64_t size = range_of(memory); /* a smaller range is accepted */
    void *range = MAP_FAILED;

    memset(arena, 0, sizeof(*arena));
    for (; size > memory; size /= 2) {
        if (size <= SIZE_MAX / 2)
            range = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                         -1, 0);
        if (range != MAP_FAILED)
            break;
    }
    if (range == MAP_FAILED)
        return sim_why_set(why, FERRY_ENOMEM, "no address range of %" PRIu64 " bytes is free",
                           memory);
    arena->freed = calloc(REMEMBER, sizeof(*arena->freed));
    if (!arena->freed) {
        munmap(range, (size_t)size);
        return sim_why_set(why, FERRY_ENOMEM, "out of host memory");
    }
    arena->start = arena->next = (uintptr_t)range;
    arena->end = arena->start + (uintptr_t)size;
    return 0;
}

void sim_arena_close(struct sim_arena *arena)
{
    munmap((void *)arena->start, arena->end - arena->start);
    free(arena->blocks);
    free(arena->freed);
}

/* The index of the first block that begins at `address` or above. */
static size_t lower_bound(const struct sim_arena *arena, uintptr_t address)
{
    size_t low = 0, high = arena->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (arena->blocks[middle]->base < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds room for `span` at `from` or above; *out_index is the block's index. 0 if there is none. */
static uintptr_t find_room(const struct sim_arena *arena, uintptr_t from, uint64_t span,
                           size_t *out_index)
{
    size_t i = lower_bound(arena, from);

    if (i > 0 && from < arena->blocks[i - 1]->base + span_of(arena->blocks[i - 1]->bytes))
        from = arena->blocks[i - 1]->base + (uintptr_t)span_of(arena->blocks[i - 1]->bytes);
    for (; i < arena->count; i++) {
        const struct sim_block *block = arena->blocks[i];

        if (block->base - from >= span)
            break;
        from = block->base + (uintptr_t)span_of(block->bytes);
    }
    *out_index = i;
    return arena->end - from >= span ? from : 0;
}

static bool grow(struct sim_arena *arena)
{
    size_t room = arena->room ? arena->room * 2 : 64;
    struct sim_block **blocks = realloc(arena->blocks, room * sizeof(struct sim_block *));

    if (!blocks)
        return false;
    arena->blocks = blocks;
    arena->room = room;
    return true;
}

int sim_arena_add(struct sim_arena *arena, struct sim_block *block, struct sim_why *why)
{
    uint64_t span = span_of(block->bytes);
    uintptr_t base;
    size_t index;

    if (arena->count == arena->room && !grow(arena))
        return sim_why_set(why, FERRY_ENOMEM, "out of host memory");
    base = find_room(arena, arena->next, span, &index);
    if (!base)
        base = find_room(arena, arena->start, span, &index);
    if (!base)
        return sim_why_set(why, FERRY_ENOMEM, "no %" PRIu64 " contiguous bytes between %zu blocks",
                           block->bytes, arena->count);
    memmove(&arena->blocks[index + 1], &arena->blocks[index],
            (arena->count - index) * sizeof(struct sim_block *));
    arena->blocks[index] = block;
    arena->count++;
    block->base = base;
    arena->next = base + (uintptr_t)span;
    return 0;
}

void sim_arena_remove(struct sim_arena *arena, struct sim_block *block)
{
    size_t index = lower_bound(arena, block->base);
    struct sim_freed *freed = &arena->freed[arena->frees++ % REMEMBER];

    freed->base = block->base;
    freed->bytes = block->bytes;
    arena->count--;
    memmove(&arena->blocks[index], &arena->blocks[index + 1],
            (arena->count - index) * sizeof(struct sim_block *));
}

/* The device whose range contains an address; NULL if there is none. */
static const struct sim_device *owner_of(uintptr_t address)
{
    for (const struct sim_device *dev = sim_shared.devices; dev; dev = dev->next)
        if (address >= dev->arena.start && address < dev->arena.end)
            return dev;
    return NULL;
}

/* Sets the error for a handle that is not a block's, according to the kind of mistake. */
static int complain(const struct sim_device *dev, uintptr_t handle, struct sim_why *why)
{
    const struct sim_arena *arena = &dev->arena;
    const struct sim_device *owner = owner_of(handle);
    size_t after = lower_bound(arena, handle);
    uint64_t known = arena->frees < REMEMBER ? arena->frees : REMEMBER;

    if (owner && owner != dev)
        return sim_why_set(why, FERRY_EINVAL, "handle 0x%" PRIxPTR " belongs to sim:%u", handle,
                           owner->index);
    if (!owner)
        return sim_why_set(why, FERRY_EINVAL, "handle 0x%" PRIxPTR " is not device memory", handle);
    if (after > 0 && handle - arena->blocks[after - 1]->base < arena->blocks[after - 1]->bytes)
        return sim_why_set(why, FERRY_EINVAL,
                           "handle 0x%" PRIxPTR " is %" PRIuPTR " bytes into the block 0x%" PRIxPTR
                           " of %" PRIu64 " bytes: add to offsets, never to handles",
                           handle, handle - arena->blocks[after - 1]->base,
                           arena->blocks[after - 1]->base, arena->blocks[after - 1]->bytes);
    for (uint64_t i = 0; i < known; i++)
        if (handle - arena->freed[i].base < arena->freed[i].bytes)
            return sim_why_set(why, FERRY_EINVAL,
                               "handle 0x%" PRIxPTR " was freed (a block of %" PRIu64 " bytes)",
                               handle, arena->freed[i].bytes);
    return sim_why_set(why, FERRY_EINVAL, "handle 0x%" PRIxPTR " does not belong to a block",
                       handle);
}

int sim_arena_find(struct sim_device *dev, const void *handle, struct sim_block **out,
                   struct sim_why *why)
{
    uintptr_t address = (uintptr_t)handle;
    size_t index = lower_bound(&dev->arena, address);

    if (index == dev->arena.count || dev->arena.blocks[index]->base != address)
        return complain(dev, address, why);
    *out = dev->arena.blocks[index];
    return 0;
}

const struct sim_block *sim_arena_at(const struct sim_arena *arena, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    size_t after = lower_bound(arena, address + 1);
    const struct sim_block *block = after > 0 ? arena->blocks[after - 1] : NULL;

    return block && address - block->base < block->bytes ? block : NULL;
}

/*
 * Refuses an access to mapped bytes: the device may not write bytes that the host has mapped, nor
 * read them if the host may write them.
 */
static int check_mapping(const struct sim_block *block, uint32_t access, struct sim_why *why)
{
    if (!block->mapped || (!(access & FERRY_WRITE) && !(block->mapped & FERRY_WRITE)))
        return 0;
    return sim_why_set(why, FERRY_EINVAL, "handle 0x%" PRIxPTR " is mapped for %s: unmap it first",
                       block->base, block->mapped & FERRY_WRITE ? "writing" : "reading");
}

int sim_arena_resolve(struct sim_device *dev, ferry_cref ref, uint64_t bytes, uint32_t access,
                      struct sim_block **out_block, unsigned char **out_real, struct sim_why *why)
{
    struct sim_block *block = NULL;
    int err = sim_arena_find(dev, ref.handle, &block, why);

    if (err)
        return err;
    if (ref.offset > block->bytes || bytes > block->bytes - ref.offset)
        return sim_why_set(why, FERRY_EINVAL,
                           "handle 0x%" PRIxPTR " offset %" PRIu64 ", %" PRIu64
                           " bytes: the block has %" PRIu64 " bytes",
                           block->base, ref.offset, bytes, block->bytes);
    err = dev->set.map ? check_mapping(block, access, why) : 0;
    if (err)
        return err;
    *out_block = block;
    *out_real = block->real + ref.offset;
    return 0;
}

int sim_arena_bind(const struct sim_device *dev, ferry_cref ref, uint64_t bytes,
                   struct sim_why *why)
{
    uint64_t alignment = dev->set.offset_alignment, most = dev->set.max_binding;

    if (alignment && ref.offset % alignment)
        return sim_why_set(why, FERRY_EINVAL,
                           "handle %p offset %" PRIu64 ": option.offset_alignment is %" PRIu64,
                           (void *)(uintptr_t)ref.handle, ref.offset, alignment);
    if (most && bytes > most)
        return sim_why_set(why, FERRY_EINVAL,
                           "handle %p, %" PRIu64 " bytes: option.max_binding is %" PRIu64,
                           (void *)(uintptr_t)ref.handle, bytes, most);
    return 0;
}
