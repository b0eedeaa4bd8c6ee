/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_chunk"
#include "good.h"

/* Processes 2^20 elements at a time, each time with the first elements of x. */
static int in_chunks(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                     ferry_ref y)
{
    const int64_t most = INT64_C(1) << 20;
    int err = 0;

    for (int64_t done = 0; done < n && !err; done += most) {
        err = good_axpy(dev, queue, dtype, n - done < most ? n - done : most, alpha, x, y);
        y.offset += (uint64_t)most * 4;
    }
    return err;
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->axpy = in_chunks;
}
