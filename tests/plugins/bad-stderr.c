/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_stderr"
#include "good.h"

#include <stdio.h>

/* Prints to standard error. */
static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    fprintf(stderr, "memset of %llu bytes\n", (unsigned long long)bytes);
    return good_memset(dev, queue, dst, byte, bytes);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memset = set;
}
