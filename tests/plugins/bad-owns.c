/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_owns"
#include "good.h"

/* Claims every address of its range, even if no block contains it. */
static int by_range(void *dev, const void *handle)
{
    uint64_t before = (uint64_t)((uintptr_t)handle - (uintptr_t)good_arena);

    (void)dev;
    return before < GOOD_ARENA;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->owns = by_range;
}
