/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_map"
#include "good.h"

#include <sys/mman.h>

/* Leaks untouched pages when a device is closed. */
static int open_and_drop(void *plugin, uint32_t index, void **out_dev)
{
    if (index == 0)
        mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return good_device_open(plugin, index, out_dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_open = open_and_drop;
}
