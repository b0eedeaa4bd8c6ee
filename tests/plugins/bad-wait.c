/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_wait"
#define GOOD_ASYNC
#include "good.h"

/* queue_wait blocks the caller. */
static int wait_here(void *dev, void *queue, void *event)
{
    (void)queue;
    return good_event_synchronize(dev, event);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->queue_wait = wait_here;
}
