/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_exit_crash"
#include "good.h"

/* Closes the device when the program ends, even if it was closed before. */
static void __attribute__((destructor)) tear_down(void)
{
    if (good_arena)
        good_arena[GOOD_ARENA - 1] = 0;
    good_host->log(FERRY_LOG_DEBUG, "the end");
}

static void close_one(void *dev)
{
    good_device_close(dev);
    good_host = NULL;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_close = close_one;
}
