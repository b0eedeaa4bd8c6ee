/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefetching: a thread reads batches, in order, before they are requested. They are in host memory
 * of the kind that the device prefers. With a depth of 0 there is no thread, and a batch is read
 * when it is requested; the batches are the same.
 *
 * One function reads, called by one thread at a time: by the prefetch thread from the first
 * ferry__prefetch_next until ferry__prefetch_stop, which ends the thread; the caller must not touch
 * the function's data in between. The functions below are called by one thread at a time.
 */
#ifndef FERRY_NET_DATA_PREFETCH_H
#define FERRY_NET_DATA_PREFETCH_H

#include <ferry/blob.h>
#include <stdbool.h>

struct ferry__prefetch;

/* A batch, the unit of reading. */
struct ferry__batch {
    ferry_blob **blobs; /* F32, n_blobs of them; the reading function reshapes and fills them */
    uint64_t position;  /* the position of the source after this batch, set by the reading
                         * function */
};

/*
 * Reads the next batch, or fails with a message and leaves the source at its position, so that the
 * next call reads the same batch.
 */
typedef int ferry__prefetch_fn(void *arg, struct ferry__batch *batch);

/* Prefetches `depth` batches of n_blobs each. FERRY_ENOMEM. */
int ferry__prefetch_open(ferry_device *dev, int64_t depth, int n_blobs, ferry__prefetch_fn *fn,
                         void *arg, struct ferry__prefetch **out);

/* Whether a prefetch thread is running. */
bool ferry__prefetch_reads(const struct ferry__prefetch *p);

/*
 * For the reading function, between two records: whether it has to return early because its batch
 * is no longer needed.
 */
bool ferry__prefetch_ends(struct ferry__prefetch *p);

/*
 * Waits for the next batch, which the caller holds until the next call. If reading the batch
 * failed, returns that error after the batches before it were taken. FERRY_EFORKED in a child of
 * fork, where the thread does not exist.
 */
int ferry__prefetch_next(struct ferry__prefetch *p, const struct ferry__batch **out);

/* Ends the thread after its current record and drops the prefetched batches. */
void ferry__prefetch_stop(struct ferry__prefetch *p);

/* As ferry__prefetch_stop, and frees the structure. NULL is accepted. */
void ferry__prefetch_close(struct ferry__prefetch *p);

#endif
