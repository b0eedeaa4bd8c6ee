/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_error"
#include "good.h"

/* Fails with a code but without a message. */
static int say_nothing(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                       uint32_t *out_flags)
{
    if (bytes > GOOD_ARENA)
        return FERRY_ENOMEM;
    return good_alloc(dev, queue, bytes, flags, out_handle, out_flags);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->alloc = say_nothing;
}
