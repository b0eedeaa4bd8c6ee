/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_submit"
#define GOOD_ASYNC
#define GOOD_QUEUES
#include "good.h"

/* Appends the work of all queues to one list without a lock. */
static int append(const struct good_work *what)
{
    struct good_work **last = good_last; /* old by the time that malloc returns */
    struct good_work *w = malloc(sizeof(*w));

    if (!w)
        return good_host->error(FERRY_ENOMEM, "malloc failed");
    *w = *what;
    w->next = NULL;
    *(struct good_work *volatile *)last = w;
    good_last = &w->next;
    pthread_cond_broadcast(&good_changed);
    return 0;
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    const struct good_work w = { .queue = queue,
                                 .run = good_run_set,
                                 .dst = good_at(dst.handle, dst.offset),
                                 .bytes = bytes,
                                 .byte = (int)(byte & 0xff) };

    return good_started ? append(&w) : good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = set;
}
