/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_threads"
#include "good.h"

/* Reuses freed blocks without a lock. */
static void *volatile spare;

static int take_spare(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                      uint32_t *out_flags)
{
    void *block = spare;

    if (bytes > 4096 || !block)
        return good_alloc(dev, queue, bytes > 4096 ? bytes : 4096, flags, out_handle, out_flags);
    sched_yield(); /* another thread may run in between */
    spare = NULL;
    *out_handle = block;
    return 0;
}

static int keep_spare(void *dev, void *queue, void *handle)
{
    uint64_t at = (uint64_t)((unsigned char *)handle - good_arena) / GOOD_GRAIN;

    if (good_bytes[at] != 4096 || spare)
        return good_free(dev, queue, handle);
    spare = handle;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->alloc = take_spare;
    ops->free = keep_spare;
}
