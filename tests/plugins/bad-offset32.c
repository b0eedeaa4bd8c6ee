/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME  "bad_offset32"
#define GOOD_ARENA (UINT64_C(4352) << 20)
#define GOOD_GRAIN (UINT64_C(64) << 10)
#include "good.h"

/*
 * Offsets are truncated to unsigned int: that of the host in a copy, that of y in axpy, and all in
 * memset.
 */
static int copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    if (kind == FERRY_MEMCPY_H2D)
        src.offset = (unsigned)src.offset;
    if (kind == FERRY_MEMCPY_D2H)
        dst.offset = (unsigned)dst.offset;
    return good_memcpy(dev, queue, kind, dst, src, bytes);
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    dst.offset = (unsigned)dst.offset;
    return good_memset(dev, queue, dst, byte, bytes);
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    y.offset = (unsigned)y.offset;
    return good_axpy(dev, queue, dtype, n, alpha, x, y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memcpy = copy;
    ops->memset = set;
    ops->axpy = axpy;
}
