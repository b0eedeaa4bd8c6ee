/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains: runs on the images of a batch that are divided among processors. Each chain computes its
 * images by all runs, some images at a time (a sub-batch), so that they stay in its cache.
 */
#ifndef FERRY_OP_CHAIN_H
#define FERRY_OP_CHAIN_H

#include "op/run.h"

/*
 * The division of a batch: sub-batch s has images s·images / pieces … (s + 1)·images / pieces − 1,
 * so that the sizes differ by at most 1. Chain c computes sub-batches c·n … (c + 1)·n − 1 in this
 * order, where n is pieces / count.
 */
struct ferry__chains {
    uint32_t count;
    int64_t images, pieces; /* a multiple of count; at most `images` */
    int64_t from, to;       /* of each chain's sub-batches, those that run: from … to − 1 */
};

/* The number of images of the largest and of the smallest sub-batches. */
int64_t ferry__chains_most(const struct ferry__chains *c);
int64_t ferry__chains_least(const struct ferry__chains *c);

/* The processors of the device's chains, for the calling thread; all 0: it has no chains. */
void ferry__chains_of(ferry_device *dev, ferry_op_chains *out);

/*
 * Submits runs of one device with chains to its queue: each run for the sub-batches of its number
 * of images (ferry__run.chained). `workspace` has `space` bytes for each chain. After a failure
 * *out_failed is the index of a run that failed, or `n` if none of them did.
 */
int ferry__chains_submit(const struct ferry__chains *c, const struct ferry__run *runs, size_t n,
                         ferry_queue *q, ferry_ref workspace, uint64_t space, size_t *out_failed);

#endif
