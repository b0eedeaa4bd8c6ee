/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_binding"
#include "good.h"

/* Reports that kernels can address 24 MiB from a reference, but they address 20. */

static int bad_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                    ferry_ref y)
{
    const int64_t most = (INT64_C(20) << 20) / (int64_t)sizeof(float);

    return good_axpy(dev, queue, dtype, n < most ? n : most, alpha, x, y);
}

static int bad_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    int err = good_properties(plugin, index, dev, out);

    out->max_binding = UINT64_C(24) << 20;
    return err;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = bad_axpy;
    ops->properties = bad_properties;
}
