/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_wait_default"
#define GOOD_ASYNC
#include "good.h"

static int create(void *dev, uint32_t flags, void **out_queue)
{
    (void)dev, (void)flags;
    *out_queue = malloc(1);
    return *out_queue ? 0 : good_host->error(FERRY_ENOMEM, "malloc failed");
}

static int destroy(void *dev, void *queue)
{
    (void)dev;
    free(queue);
    return 0;
}

/* queue_wait makes the caller wait where the queue is the default one. */
static int wait_here(void *dev, void *queue, void *event)
{
    return queue ? 0 : good_event_synchronize(dev, event);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->queue_create = create;
    ops->queue_destroy = destroy;
    ops->queue_wait = wait_here;
}
