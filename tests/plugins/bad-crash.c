/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_crash"
#include "good.h"

/* axpy of a thousand elements crashes the process. */
static int crash(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                 ferry_ref y)
{
    if (n == 1000)
        abort();
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = crash;
}
