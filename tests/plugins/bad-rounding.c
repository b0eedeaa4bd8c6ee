/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_rounding"
#include "good.h"

#include <fenv.h>

/* Sets the rounding mode to toward zero. */
static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    fesetround(FE_TOWARDZERO);
    return good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = set;
}
