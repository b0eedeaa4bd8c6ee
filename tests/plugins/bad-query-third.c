/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_query_third"
#define GOOD_ASYNC
#include "good.h"

/* Every third event_query of a thread waits. */
static int wait_sometimes(void *dev, void *event)
{
    static _Thread_local int calls;

    if (++calls % 3 == 0)
        good_event_synchronize(dev, event);
    return good_event_query(dev, event);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_query = wait_sometimes;
}
