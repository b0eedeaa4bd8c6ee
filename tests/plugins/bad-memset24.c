/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_memset24"
#include "good.h"

/* The length is truncated to 24 bits. */
static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    uint64_t low = bytes & 0xffffff;

    return good_memset(dev, queue, dst, byte, low ? low : bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = set;
}
