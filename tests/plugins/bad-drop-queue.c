/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_queue"
#include "good.h"

static int create(void *dev, uint32_t flags, void **out_queue)
{
    (void)dev, (void)flags;
    *out_queue = malloc(8);
    return *out_queue ? 0 : good_host->error(FERRY_ENOMEM, "malloc failed");
}

/* Leaks the 8 bytes of a queue. */
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
