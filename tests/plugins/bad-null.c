/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_null"
#include "good.h"

/* If memory is short, alloc succeeds and returns no block. */
static int succeed(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                   uint32_t *out_flags)
{
    if (good_alloc(dev, queue, bytes, flags, out_handle, out_flags))
        *out_handle = NULL;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->alloc = succeed;
}
