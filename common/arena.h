/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An arena: memory that is freed together with its owner, an open file or a tree of messages. It
 * has a limit, since a small file may claim millions of arrays.
 */
#ifndef FERRY_COMMON_ARENA_H
#define FERRY_COMMON_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FERRY__MEM_FIRST 4096u  /* the size of the first block */
#define FERRY__MEM_BLOCK 65536u /* the size of the other blocks */
#define FERRY__MEM_LIMIT (UINT64_C(1) << 30)

struct ferry__mem_block {
    struct ferry__mem_block *next;
    size_t size, used;
    max_align_t bytes[];
};

/* An arena; a zeroed structure is an empty one. */
struct ferry__mem_arena {
    struct ferry__mem_block *blocks;
    uint64_t taken; /* bytes that were allocated from the system */
    uint64_t limit; /* the maximum of `taken`; 0: FERRY__MEM_LIMIT */
    bool no_memory; /* an allocation from the system failed */
};

static inline struct ferry__mem_block *ferry__mem_add_block(struct ferry__mem_arena *arena,
                                                            size_t size)
{
    size_t usual = arena->blocks ? FERRY__MEM_BLOCK : FERRY__MEM_FIRST;
    uint64_t limit = arena->limit ? arena->limit : FERRY__MEM_LIMIT;
    struct ferry__mem_block *block;
    size_t total = sizeof(*block) + (size < usual ? usual : size);

    if (total > limit - arena->taken)
        return NULL;
    block = (struct ferry__mem_block *)calloc(1, total);
    if (!block) {
        arena->no_memory = true;
        return NULL;
    }
    block->size = total - sizeof(*block);
    block->next = arena->blocks;
    arena->blocks = block;
    arena->taken += total;
    return block;
}

/* Allocates zeroed memory, aligned for any type. NULL beyond the limit or without memory. */
static inline void *ferry__mem_alloc(struct ferry__mem_arena *arena, size_t size)
{
    struct ferry__mem_block *block = arena->blocks;
    void *out;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!block || block->size - block->used < size)
        block = ferry__mem_add_block(arena, size);
    if (!block)
        return NULL;
    out = (char *)block->bytes + block->used;
    block->used += size;
    return out;
}

/* A copy of `size` bytes, with a NUL after them. */
static inline char *ferry__mem_copy(struct ferry__mem_arena *arena, const void *bytes, size_t size)
{
    char *out = size < SIZE_MAX ? (char *)ferry__mem_alloc(arena, size + 1) : NULL;

    if (out && size > 0)
        memcpy(out, bytes, size);
    return out;
}

static inline void ferry__mem_free(struct ferry__mem_arena *arena)
{
    while (arena->blocks) {
        struct ferry__mem_block *block = arena->blocks;

        arena->blocks = block->next;
        free(block);
    }
}

#endif
