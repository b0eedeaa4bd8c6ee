/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_outlive"
#define GOOD_ASYNC
#include "good.h"

/* Events use their queue, which may have been destroyed. */
struct queue {
    bool alive;
};

static int create(void *dev, uint32_t flags, void **out_queue)
{
    static struct queue queues[64];
    static unsigned used;
    struct queue *q = &queues[used++ % 64];

    (void)dev, (void)flags;
    q->alive = true;
    *out_queue = q;
    return 0;
}

static int destroy(void *dev, void *queue)
{
    (void)dev;
    ((struct queue *)queue)->alive = false;
    return 0;
}

static int query(void *dev, void *event)
{
    const struct good_work *w = event;
    const struct queue *q = w->queue;

    if (q && !q->alive)
        return good_host->error(FERRY_EINVAL, "the event's queue is gone");
    return good_event_query(dev, event);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->queue_create = create;
    ops->queue_destroy = destroy;
    ops->event_query = query;
}
