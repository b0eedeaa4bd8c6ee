/* SPDX-License-Identifier: BSD-2-Clause */
#define GOOD_NAME "bad_counters"
#define GOOD_QUEUES
#include "good.h"

/* Counts copies and blocks without a lock. */
static int count(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                 uint64_t bytes)
{
    const struct good_work w = { .run = good_run_copy,
                                 .dst = good_at(dst.handle, dst.offset),
                                 .src = good_at(src.handle, src.offset),
                                 .bytes = bytes };
    volatile uint64_t *counts = &good_account.copies_h2d, *sums = &good_account.bytes_h2d;

    (void)dev, (void)queue;
    counts[kind - 1]++;
    sums[kind - 1] += bytes;
    return good_do(&w);
}

static void spoil(ferry_plugin_ops *ops)
{
    ops->memcpy = count;
}
