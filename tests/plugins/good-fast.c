/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_fast"
#include "good.h"

/* A correct plugin whose events are done immediately, so that no wait for them can be observed. */
static int event_record(void *dev, void *queue, void **out_event)
{
    (void)dev, (void)queue;
    *out_event = malloc(1);
    return *out_event ? 0 : good_host->error(FERRY_ENOMEM, "malloc failed");
}

static int is_done(void *dev, void *event)
{
    (void)dev, (void)event;
    return 1;
}

static int nothing(void *dev, void *event)
{
    (void)dev, (void)event;
    return 0;
}

static int event_destroy(void *dev, void *event)
{
    (void)dev;
    free(event);
    return 0;
}

static int queue_wait(void *dev, void *queue, void *event)
{
    (void)dev, (void)queue, (void)event;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_record = event_record;
    ops->event_query = is_done;
    ops->event_synchronize = nothing;
    ops->event_destroy = event_destroy;
    ops->queue_wait = queue_wait;
}
