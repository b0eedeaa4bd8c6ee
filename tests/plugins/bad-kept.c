/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_kept"
#include "good.h"

/* free keeps the memory, but the counters report it as freed. */
static int keep(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue, (void)handle;
    pthread_mutex_lock(&good_lock);
    good_account.live_blocks--;
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static int from_malloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                       uint32_t *out_flags)
{
    (void)dev, (void)queue, (void)flags, (void)out_flags;
    if (bytes > GOOD_ARENA)
        return good_host->error(FERRY_ENOMEM, "too much");
    *out_handle = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!*out_handle)
        return good_host->error(FERRY_ENOMEM, "aligned_alloc failed");
    pthread_mutex_lock(&good_lock);
    good_account.live_blocks++;
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->alloc = from_malloc;
    ops->free = keep;
}
