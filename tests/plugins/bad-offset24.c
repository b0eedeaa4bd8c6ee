/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_offset24"
#include "good.h"

/* Offsets into the device's blocks are truncated to 24 bits. */
static ferry_ref low(ferry_ref ref)
{
    ref.offset &= 0xffffff;
    return ref;
}

static ferry_cref low_const(ferry_cref ref)
{
    ref.offset &= 0xffffff;
    return ref;
}

static int copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    return good_memcpy(dev, queue, kind, kind == FERRY_MEMCPY_D2H ? dst : low(dst),
                       kind == FERRY_MEMCPY_H2D ? src : low_const(src), bytes);
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    return good_memset(dev, queue, low(dst), byte, bytes);
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    return good_axpy(dev, queue, dtype, n, alpha, low_const(x), y);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memcpy = copy;
    ops->memset = set;
    ops->axpy = axpy;
}
