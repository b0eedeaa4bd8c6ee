/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_zero"
#include "good.h"

/* Adds 0 to every element, which turns -0 into +0. */
static int add_zero(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                    ferry_ref y)
{
    float *to = (float *)(void *)good_at(y.handle, y.offset);
    int err = good_axpy(dev, queue, dtype, n, alpha, x, y);

    for (int64_t i = 0; !err && i < n; i++)
        if (to[i] == 0)
            to[i] = 0;
    return err;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = add_zero;
}
