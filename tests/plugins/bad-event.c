/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_event"
#define GOOD_ASYNC
#include "good.h"

/* Reports an event as done as soon as it is recorded. */
static int at_once(void *dev, void *event)
{
    (void)dev, (void)event;
    return 1;
}

static int without_waiting(void *dev, void *event)
{
    (void)dev, (void)event;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_query = at_once;
    ops->event_synchronize = without_waiting;
}
