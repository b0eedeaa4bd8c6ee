/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches that a thread of their own reads before they are asked for, in order. They lie in host memory as
 * the device likes it. With a depth of 0 there is no thread, and a batch is read when it is asked for; the
 * batches are the same.
 *
 * What reads is one function, called by one thread at a time: by the thread from the first
 * ferry__prefetch_next on until ferry__prefetch_stop, which ends it; what it works on is not touched
 * meanwhile. The functions below are called by one thread at a time.
 */
#ifndef FERRY_NET_DATA_PREFETCH_H
#define FERRY_NET_DATA_PREFETCH_H

#include <ferry/blob.h>
#include <stdbool.h>

struct ferry__prefetch;

/* What is read at a time. */
struct ferry__batch {
    ferry_blob **blobs; /* F32, as many as were asked for; reading shapes and fills them */
    uint64_t position;  /* of the source behind it, by reading */
};

/* Reads the next batch, or fails with a message and leaves the source where it was: it is read again. */
typedef int ferry__prefetch_fn(void *arg, struct ferry__batch *batch);

/* `depth` batches of n_blobs each are read ahead. FERRY_ENOMEM. */
int ferry__prefetch_open(ferry_device *dev, int64_t depth, int n_blobs, ferry__prefetch_fn *fn,
                         void *arg, struct ferry__prefetch **out);

/* Whether a thread reads. */
bool ferry__prefetch_reads(const struct ferry__prefetch *p);

/* For reading, between two records: whether it is to come to its end, its batch not wanted any longer. */
bool ferry__prefetch_ends(struct ferry__prefetch *p);

/*
 * Waits for the next batch, which is the caller's until the next call. Fails as reading this batch did, after
 * those before it were had. FERRY_EFORKED in a child of fork, where
 * the thread is not.
 */
int ferry__prefetch_next(struct ferry__prefetch *p, const struct ferry__batch **out);

/* Ends the thread, as soon as its record is read, and forgets what it has read. */
void ferry__prefetch_stop(struct ferry__prefetch *p);

/* The same, and frees it. NULL is accepted. */
void ferry__prefetch_close(struct ferry__prefetch *p);

#endif
