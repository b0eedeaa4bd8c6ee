/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_crumbs"
#define GOOD_ASYNC
#include "good.h"

/* Leaks some bytes with every fourth event. */
static int forget_a_little(void *dev, void *event)
{
    static void *last;
    static int calls;

    if (++calls % 4 == 0) {
        void **more = malloc(sizeof(*more));

        *more = last;
        last = more;
    }
    return good_event_destroy(dev, event);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->event_destroy = forget_a_little;
}
