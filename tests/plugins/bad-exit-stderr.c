/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_exit_stderr"
#include "good.h"

#include <stdio.h>

/* Prints a message if the program ends with an open device. */
static bool is_open;

static void complain(void)
{
    if (is_open)
        fputs("a device was left open\n", stderr);
}

static int open_one(void *plugin, uint32_t index, void **out_dev)
{
    int err = good_device_open(plugin, index, out_dev);

    is_open = !err;
    return err;
}

static void close_one(void *dev)
{
    is_open = false;
    good_device_close(dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    atexit(complain);
    ops->device_open = open_one;
    ops->device_close = close_one;
}
