/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_outside"
#include "good.h"

/* memset rounds its length up to 16 bytes, past the end of the block. */
static int round_up(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    return good_memset(dev, queue, dst, byte, (bytes + 15) / 16 * 16);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = round_up;
}
