/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_memset"
#include "good.h"

/* memset starts at the beginning of the block instead of the given offset. */
static int set_beginning(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    dst.offset = 0;
    return good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = set_beginning;
}
