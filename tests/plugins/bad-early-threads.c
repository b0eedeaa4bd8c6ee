/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_early_threads"
#include "good.h"

/*
 * Counting devices starts a thread; opening a device starts one as well, and allocates more memory.
 */
static void *wait_for_work(void *arg)
{
    (void)arg;
    while (pause() == -1)
        ;
    return NULL;
}

static int count(void *plugin, uint32_t *out)
{
    static bool started;
    pthread_t thread;

    if (!started && pthread_create(&thread, NULL, wait_for_work, NULL) != 0)
        return good_host->error(FERRY_EDEVICE, "cannot start a thread");
    started = true;
    return good_device_count(plugin, out);
}

static int open_it(void *plugin, uint32_t index, void **out_dev)
{
    static bool started;
    pthread_t thread;
    int err = good_device_open(plugin, index, out_dev);

    if (!err && !started && pthread_create(&thread, NULL, wait_for_work, NULL) == 0)
        started = true;
    if (!err)
        memset(*out_dev, 1, GOOD_ARENA);
    return err;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_count = count;
    ops->device_open = open_it;
}
