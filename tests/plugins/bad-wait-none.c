/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_wait_none"
#define GOOD_ASYNC
#define GOOD_QUEUES
#include "good.h"

/* The default queue runs its work immediately, ignoring queue_wait. */
static int copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    uint64_t *counts = &good_account.copies_h2d, *sums = &good_account.bytes_h2d;

    if (queue)
        return good_memcpy(dev, queue, kind, dst, src, bytes);
    pthread_mutex_lock(&good_lock);
    counts[kind - 1]++;
    sums[kind - 1] += bytes;
    pthread_mutex_unlock(&good_lock);
    memmove(good_at(dst.handle, dst.offset), good_at(src.handle, src.offset), bytes);
    return 0;
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    if (queue)
        return good_memset(dev, queue, dst, byte, bytes);
    memset(good_at(dst.handle, dst.offset), (int)(byte & 0xff), bytes);
    return 0;
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    int err = good_axpy(dev, queue, dtype, n, alpha, x, y);

    return err || queue ? err : good_synchronize(dev);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memcpy = copy;
    ops->memset = set;
    ops->axpy = axpy;
}
