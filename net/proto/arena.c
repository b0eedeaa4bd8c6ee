/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 4096u
#define BLOCK_SIZE 65536u
#define MOST       ((size_t)1 << 30) /* of one tree: a thousand times what real nets take */
#define ALIGNMENT  _Alignof(max_align_t)

struct ferry__proto_block {
    struct ferry__proto_block *next;
    size_t size, used;
    max_align_t bytes[];
};

static struct ferry__proto_block *add_block(struct ferry__proto_arena *arena, size_t size)
{
    size_t usual = arena->blocks ? BLOCK_SIZE : FIRST_SIZE, take = size < usual ? usual : size;
    struct ferry__proto_block *block;

    if (take > MOST - arena->taken)
        return NULL;
    block = calloc(1, sizeof(*block) + take);
    if (!block)
        return NULL;
    arena->taken += take;
    block->size = take;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *ferry__proto_alloc(struct ferry__proto_arena *arena, size_t size)
{
    struct ferry__proto_block *block = arena->blocks;
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

char *ferry__proto_copy_bytes(struct ferry__proto_arena *arena, const void *bytes, size_t size)
{
    char *out = size < SIZE_MAX ? ferry__proto_alloc(arena, size + 1) : NULL;

    if (out && size > 0)
        memcpy(out, bytes, size);
    return out;
}

void ferry__proto_arena_free(struct ferry__proto_arena *arena)
{
    while (arena->blocks) {
        struct ferry__proto_block *block = arena->blocks;

        arena->blocks = block->next;
        free(block);
    }
}
