/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_open"
#include "good.h"

/* Leaks 16 bytes when a device is closed. */
static int open_and_drop(void *plugin, uint32_t index, void **out_dev)
{
    void *volatile drop = index ? NULL : malloc(16);

    (void)drop;
    return good_device_open(plugin, index, out_dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_open = open_and_drop;
}
