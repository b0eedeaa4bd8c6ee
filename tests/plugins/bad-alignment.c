/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_alignment"
#include "good.h"

/*
 * Reports an offset alignment of 16 in arithmetic, but rounds offsets down to 64, as its kernels
 * require.
 */

static int bad_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                    ferry_ref y)
{
    x.offset &= ~UINT64_C(63);
    y.offset &= ~UINT64_C(63);
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static int bad_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    int err = good_properties(plugin, index, dev, out);

    out->offset_alignment = 16;
    return err;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = bad_axpy;
    ops->properties = bad_properties;
}
