/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_counts_events"
#include "good.h"

/* Counts events, which are done when they are recorded, without a lock. */
static int record(void *dev, void *queue, void **out_event)
{
    (void)dev, (void)queue;
    *out_event = malloc(1);
    if (!*out_event)
        return good_host->error(FERRY_ENOMEM, "malloc failed");
    good_account.live_events++;
    return 0;
}

static int query(void *dev, void *event)
{
    (void)dev, (void)event;
    return 1;
}

static int synchronize(void *dev, void *event)
{
    (void)dev, (void)event;
    return 0;
}

static int destroy(void *dev, void *event)
{
    (void)dev;
    free(event);
    good_account.live_events--;
    return 0;
}

static int wait(void *dev, void *queue, void *event)
{
    (void)dev, (void)queue, (void)event;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_record = record;
    ops->event_query = query;
    ops->event_synchronize = synchronize;
    ops->event_destroy = destroy;
    ops->queue_wait = wait;
}
