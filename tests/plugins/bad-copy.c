/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_copy"
#include "good.h"

/* Omits the last byte of a long copy to the host. */
static int copy_less(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                     uint64_t bytes)
{
    uint64_t less = kind == FERRY_MEMCPY_D2H && bytes > 4096 && bytes % 2 ? 1 : 0;

    return good_memcpy(dev, queue, kind, dst, src, bytes - less);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memcpy = copy_less;
}
