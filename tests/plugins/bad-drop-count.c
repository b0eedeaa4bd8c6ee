/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_count"
#include "good.h"

/* Every device_count allocates the memory of a device and leaks it. */
static int count(void *plugin, uint32_t *out)
{
    void *volatile context = malloc(5000);

    (void)context;
    return good_device_count(plugin, out);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_count = count;
}
