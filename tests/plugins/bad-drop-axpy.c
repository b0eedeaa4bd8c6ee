/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_drop_axpy"
#include "good.h"

/* Every fourth axpy leaks 8 bytes. */
static int add_and_drop(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha,
                        ferry_cref x, ferry_ref y)
{
    static unsigned calls;
    void *volatile drop = ++calls % 4 ? NULL : malloc(8);

    (void)drop;
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = add_and_drop;
}
