/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_axpy"
#include "good.h"

/* axpy processes eight elements at a time and omits the remaining ones. */
static int eights(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                  ferry_ref y)
{
    return good_axpy(dev, queue, dtype, n > 8 ? n / 8 * 8 : n, alpha, x, y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = eights;
}
