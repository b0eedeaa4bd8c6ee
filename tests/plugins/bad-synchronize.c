/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_synchronize"
#define GOOD_ASYNC
#define GOOD_QUEUES
#include "good.h"

/* synchronize waits for the default queue but not for the others. */
static bool default_is_busy(void)
{
    bool busy = good_current && !good_current->queue;

    for (const struct good_work *w = good_first; w; w = w->next)
        busy |= !w->queue;
    return busy;
}

static int synchronize(void *dev)
{
    (void)dev;
    pthread_mutex_lock(&good_lock);
    while (default_is_busy())
        pthread_cond_wait(&good_changed, &good_lock);
    pthread_mutex_unlock(&good_lock);
    return 0;
}

static int one_queue(void *dev, void *queue)
{
    (void)queue;
    return good_synchronize(dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->queue_synchronize = one_queue;
    ops->synchronize = synchronize;
}
