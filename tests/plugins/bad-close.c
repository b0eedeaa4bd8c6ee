/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_close"
#include "good.h"

/* Leaks memory of a device when it is closed. */
static int open_more(void *plugin, uint32_t index, void **out_dev)
{
    static struct state {
        struct state *last;
        char names[3000];
    } *first;
    struct state *state = index ? NULL : calloc(1, sizeof(*state));

    if (index)
        return good_device_open(plugin, index, out_dev);
    if (!state)
        return good_host->error(FERRY_ENOMEM, "calloc failed");
    state->last = first;
    first = state;
    return good_device_open(plugin, index, out_dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->device_open = open_more;
}
