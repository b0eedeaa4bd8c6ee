/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "good_near"
#define GOOD_ASYNC
#include "good.h"

static int near_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    int err = good_properties(plugin, index, dev, out);

    out->flags |= FERRY_DEVICE_HOST_MEMORY;
    return err;
}

/* A correct plugin whose memory is the host's, and which computes there asynchronously. */
static void spoil(ferry_plugin_ops *ops)
{
    ops->properties = near_properties;
}
