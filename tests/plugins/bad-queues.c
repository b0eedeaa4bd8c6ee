/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_queues"
#include "good.h"

#include <fcntl.h>

/* A queue is a file descriptor, which is never closed. */
static int create(void *dev, uint32_t flags, void **out_queue)
{
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)dev, (void)flags;
    if (file < 0)
        return good_host->error(FERRY_EDEVICE, "open failed");
    *out_queue = (void *)((intptr_t)file + 1);
    return 0;
}

static int destroy(void *dev, void *queue)
{
    (void)dev, (void)queue;
    return 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->queue_create = create;
    ops->queue_destroy = destroy;
}
