/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 32768u
#define ALIGNMENT  (sizeof(max_align_t))

struct ferry__io_arena_block {
    struct ferry__io_arena_block *next;
    size_t size, used;
    max_align_t bytes[];
};

static struct ferry__io_arena_block *add_block(struct ferry__io_arena *arena, size_t size)
{
    struct ferry__io_arena_block *block;
    size_t total = sizeof(*block) + (size < BLOCK_SIZE ? BLOCK_SIZE : size);

    if (total > arena->limit - arena->taken)
        return NULL;
    block = calloc(1, total);
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

void *ferry__io_arena_alloc(struct ferry__io_arena *arena, size_t size)
{
    struct ferry__io_arena_block *block = arena->blocks;
    void *out;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    out = (char *)block->bytes + block->used;
    block->used += size;
    return out;
}

char *ferry__io_arena_string(struct ferry__io_arena *arena, const void *bytes, size_t size)
{
    char *out = ferry__io_arena_alloc(arena, size + 1);

    if (out && size > 0)
        memcpy(out, bytes, size);
    return out;
}

void ferry__io_arena_free(struct ferry__io_arena *arena)
{
    while (arena->blocks) {
        struct ferry__io_arena_block *block = arena->blocks;

        arena->blocks = block->next;
        free(block);
    }
}
