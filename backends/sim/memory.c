/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory.
 */
#define _GNU_SOURCE
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Implements fail_alloc beyond the call itself: a caller that is refused and immediately retries
 * with the same size or more, as ferry does after it frees cached blocks, is refused again.
 * (locked)
 */
static int refuse(struct sim_device *dev, uint64_t bytes, struct sim_why *why)
{
    uint64_t call = dev->faults[SIM_CALL_ALLOC].calls;
    bool again = dev->refused.bytes == bytes && dev->refused.at == dev->faults[SIM_CALL_ANY].calls;
    int err;

    dev->refused.bytes = 0;
    err = sim_fault(dev, SIM_CALL_ALLOC, why);
    if (again && !err)
        return sim_why_set(why, FERRY_ENOMEM,
                           "call %" PRIu64 " of its kind still fails, as "
                           "requested",
                           call);
    if (err && dev->set.fail_alloc == call + 1) {
        dev->refused.bytes = bytes;
        dev->refused.at = dev->faults[SIM_CALL_ANY].calls;
    }
    return err;
}

/* Subtracts the block from the device's free memory. (locked) */
static int charge(struct sim_device *dev, uint64_t bytes, struct sim_why *why)
{
    int err = sim_alive(dev, why);

    if (err)
        return err;
    if (!bytes)
        return sim_why_set(why, FERRY_EINVAL, "a block of 0 bytes");
    err = refuse(dev, bytes, why);
    if (err)
        return err;
    if (bytes > dev->set.memory - dev->used)
        return sim_why_set(why, FERRY_ENOMEM,
                           "%" PRIu64 " bytes requested, %" PRIu64 " of %" PRIu64 " bytes free",
                           bytes, dev->set.memory - dev->used, dev->set.memory);
    dev->used += bytes;
    return 0;
}

/* Allocates the block with its bytes, zeroed or poisoned. */
static struct sim_block *create_block(uint64_t bytes, bool zero)
{
    struct sim_block *block = calloc(1, sizeof(*block));

    if (!block || bytes > SIZE_MAX)
        goto err_free_block;
    block->bytes = bytes;
    block->real = zero ? calloc(1, (size_t)bytes) : malloc((size_t)bytes);
    if (!block->real)
        goto err_free_block;
    if (!zero)
        memset(block->real, SIM_POISON_FRESH, (size_t)bytes);
    return block;

err_free_block:
    free(block);
    return NULL;
}

/* Makes a block visible. (locked) */
static int publish(struct sim_device *dev, struct sim_block *block, struct sim_why *why)
{
    int err = sim_arena_add(&dev->arena, block, why);

    if (err)
        return err;
    dev->counters.live_blocks++;
    dev->counters.live_bytes += block->bytes;
    return 0;
}

int sim_alloc(void *device, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags)
{
    struct sim_device *dev = device;
    struct sim_block *block;
    struct sim_why why = { 0 };
    bool zero = flags & FERRY_ALLOC_ZERO;

    (void)queue;
    sim_lock();
    (void)charge(dev, bytes, &why);
    sim_unlock();
    if (why.code)
        return sim_why_tell(&why);
    block = create_block(bytes, zero);
    sim_lock();
    if (!block)
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    else
        (void)publish(dev, block, &why);
    if (why.code)
        dev->used -= bytes;
    sim_unlock();
    if (why.code) {
        if (block)
            free(block->real);
        free(block);
        return sim_why_tell(&why);
    }
    *out_handle = (void *)block->base;
    *out_flags = zero ? FERRY_ALLOC_WAS_ZEROED : 0;
    return 0;
}

/* Removes the block if the handle is valid and no command uses it. (locked) */
static int withdraw(struct sim_device *dev, void *handle, struct sim_block **out,
                    struct sim_why *why)
{
    struct sim_block *block;
    int err = sim_arena_find(dev, handle, &block, why);

    if (err)
        return err;
    if (block->host)
        return sim_why_set(why, FERRY_EINVAL, "handle %p is imported: call unimport", handle);
    if (block->pending)
        return sim_why_set(why, FERRY_EBUSY, "handle %p: %" PRIu64 " commands still use it", handle,
                           block->pending);
    sim_arena_remove(&dev->arena, block);
    dev->used -= block->bytes;
    dev->counters.live_blocks--;
    dev->counters.live_bytes -= block->bytes;
    *out = block;
    return 0;
}

int sim_free(void *device, void *queue, void *handle)
{
    struct sim_device *dev = device;
    struct sim_block *block = NULL;
    struct sim_why why = { 0 };

    (void)queue;
    sim_lock();
    (void)withdraw(dev, handle, &block, &why);
    sim_unlock();
    if (block) {
        memset(block->real, SIM_POISON_FREED, (size_t)block->bytes);
        free(block->real);
        free(block);
    }
    return sim_why_tell(&why);
}

int sim_owns(void *device, const void *handle)
{
    struct sim_device *dev = device;
    const struct sim_block *block = NULL;
    struct sim_why why = { 0 };
    bool owned;

    sim_lock();
    if (!sim_alive(dev, &why))
        block = sim_arena_at(&dev->arena, handle);
    owned = block && !block->host;
    sim_unlock();
    return why.code ? sim_why_tell(&why) : owned;
}
