/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_early_memory"
#include "good.h"

/*
 * Counting devices allocates as much memory as a context, once; opening a device only starts a
 * thread.
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
    static char *context;

    if (!context && !(context = malloc(48u << 20)))
        return good_host->error(FERRY_ENOMEM, "malloc failed");
    memset(context, 1, 48u << 20);
    return good_device_count(plugin, out);
}

static int open_it(void *plugin, uint32_t index, void **out_dev)
{
    static bool started;
    pthread_t thread;

    if (!started && pthread_create(&thread, NULL, wait_for_work, NULL) == 0)
        started = true;
    return good_device_open(plugin, index, out_dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_count = count;
    ops->device_open = open_it;
}
