/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_query"
#define GOOD_ASYNC
#include "good.h"

/* event_query waits for the event, and then reports that it is done. */
static int wait_first(void *dev, void *event)
{
    good_event_synchronize(dev, event);
    return 1;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_query = wait_first;
}
