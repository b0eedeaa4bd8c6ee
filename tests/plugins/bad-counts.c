/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_counts"
#include "good.h"

/* Counts blocks without a lock. On some machines the increment is a single instruction. */
static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags)
{
    (void)dev, (void)queue, (void)flags, (void)out_flags;
    *out_handle = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!*out_handle)
        return good_host->error(FERRY_ENOMEM, "aligned_alloc failed");
    good_account.live_blocks++;
    return 0;
}

static int release(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue;
    free(handle);
    good_account.live_blocks--;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->alloc = alloc;
    ops->free = release;
}
