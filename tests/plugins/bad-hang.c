/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_hang"
#include "good.h"

/* synchronize never returns. */
static int never(void *dev)
{
    (void)dev;
    while (pause() == -1)
        ;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->synchronize = never;
}
