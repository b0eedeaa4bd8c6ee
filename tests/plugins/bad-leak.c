/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_leak"
#include "good.h"

/* Leaks every sixteenth block. */
static int forget_some(void *dev, void *queue, void *handle)
{
    static int calls;

    return ++calls % 16 ? good_free(dev, queue, handle) : 0;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->free = forget_some;
}
