/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_early"
#include "good.h"

/* Counting devices creates the device, so that opening it has nothing left to do. */
static void *context;

static void *wait_for_work(void *arg)
{
    (void)arg;
    while (pause() == -1)
        ;
    return NULL;
}

static int count(void *plugin, uint32_t *out)
{
    pthread_t thread;

    if (!context && (good_device_open(plugin, 0, &context) != 0 ||
                     pthread_create(&thread, NULL, wait_for_work, NULL) != 0))
        return good_host->error(FERRY_EDEVICE, "cannot create a context");
    *out = 1;
    return 0;
}

static int open_it(void *plugin, uint32_t index, void **out_dev)
{
    (void)plugin;
    if (index)
        return good_host->error(FERRY_ENODEV, "device %u does not exist, there is one", index + 1);
    *out_dev = context;
    return 0;
}

static void close_nothing(void *dev)
{
    (void)dev;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_count = count;
    ops->device_open = open_it;
    ops->device_close = close_nothing;
}
