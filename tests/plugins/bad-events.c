/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_events"
#define GOOD_ASYNC
#include "good.h"

/* Decrements the count of events, but does not free the event. */
static int keep(void *dev, void *event)
{
    good_event_synchronize(dev, event);
    pthread_mutex_lock(&good_lock);
    good_account.live_events--;
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_destroy = keep;
}
