/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_wait_default"
#define GOOD_ASYNC
#define GOOD_QUEUES
#include "good.h"

/* queue_wait blocks the caller if the queue is the default one. */
static int wait_here(void *dev, void *queue, void *event)
{
    return queue ? 0 : good_event_synchronize(dev, event);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->queue_wait = wait_here;
}
