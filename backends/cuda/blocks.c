/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live handles and their sizes: a hash table with open addressing. The caller holds the lock.
 */
#include "cuda.h"

#include <stdlib.h>

static size_t home(const struct cuda_blocks *blocks, const void *handle)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)handle >> 6) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 32) & (blocks->room - 1);
}

static void put(struct cuda_blocks *blocks, struct cuda_block block)
{
    size_t i = home(blocks, block.handle);

    while (blocks->at[i].handle)
        i = (i + 1) & (blocks->room - 1);
    blocks->at[i] = block;
}

static bool grow(struct cuda_blocks *blocks)
{
    struct cuda_blocks larger = { NULL, blocks->room ? 2 * blocks->room : 64, blocks->count };

    larger.at = calloc(larger.room, sizeof(*larger.at));
    if (!larger.at)
        return false;
    for (size_t i = 0; i < blocks->room; i++)
        if (blocks->at[i].handle)
            put(&larger, blocks->at[i]);
    free(blocks->at);
    *blocks = larger;
    return true;
}

bool cuda_blocks_add(struct cuda_blocks *blocks, struct cuda_block block)
{
    if (2 * (blocks->count + 1) > blocks->room && !grow(blocks))
        return false;
    put(blocks, block);
    blocks->count++;
    return true;
}

/* Moves the entries after a gap up, so that each is still found by probing from its hash. */
static void close_gap(struct cuda_blocks *blocks, size_t gap)
{
    size_t mask = blocks->room - 1;

    blocks->at[gap].handle = NULL;
    for (size_t i = (gap + 1) & mask; blocks->at[i].handle; i = (i + 1) & mask) {
        struct cuda_block block = blocks->at[i];

        blocks->at[i].handle = NULL;
        put(blocks, block);
    }
}

bool cuda_blocks_take(struct cuda_blocks *blocks, const void *handle, struct cuda_block *out)
{
    if (!blocks->room || !handle)
        return false;
    for (size_t i = home(blocks, handle); blocks->at[i].handle; i = (i + 1) & (blocks->room - 1)) {
        if (blocks->at[i].handle != handle)
            continue;
        *out = blocks->at[i];
        close_gap(blocks, i);
        blocks->count--;
        return true;
    }
    return false;
}

void cuda_blocks_clear(struct cuda_blocks *blocks)
{
    free(blocks->at);
    *blocks = (struct cuda_blocks){ 0 };
}
