/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Storage of a device: blocks of its memory and of the host memory it pins, cached, counted, and
 * kept within a budget.
 */
#ifndef FERRY_CORE_POOL_H
#define FERRY_CORE_POOL_H

#include "core/device/device.h"

/* The kind of a block. */
enum ferry__pool_kind { FERRY__POOL_DEVICE = 0, FERRY__POOL_PINNED = 1 };

int ferry__pool_create(ferry_device *dev, uint64_t limit, uint64_t budget,
                       struct ferry__pool **out);

/* Frees the cached blocks and the pool; no block is in use any more. NULL is accepted. */
void ferry__pool_destroy(struct ferry__pool *pool);

/*
 * Allocates a block of `bytes` > 0, usable on `q` from its next work on. *zeroed on entry: zeros
 * are wanted; on return: the block reads as zeros (if not, the caller fills it). With `evicts`,
 * memory in use may be evicted for it. PINNED blocks are host pointers. FERRY_ENOMEM names the
 * bytes held.
 */
int ferry__pool_alloc(ferry_device *dev, enum ferry__pool_kind kind, ferry_queue *q, uint64_t bytes,
                      bool evicts, bool *zeroed, void **out);

/*
 * A device block of `bytes` for an entry that runs on `q` now: without evicting memory in use,
 * since memories may be locked here.
 */
int ferry__pool_scratch(ferry_device *dev, ferry_queue *q, uint64_t bytes, void **out);

/*
 * Counts that such a block is in use again, or that it is idle; an idle block stays within the
 * budget.
 */
void ferry__pool_lend(ferry_device *dev, uint64_t bytes, bool again);

/* Frees a block that is not in use, at once. */
void ferry__pool_drop(ferry_device *dev, void *block, uint64_t bytes);

/* Whether a device block of so many bytes fits the device's memory by itself, as far as known. */
bool ferry__pool_could_hold(const ferry_device *dev, uint64_t bytes);

/*
 * A cached device block of `bytes` > 0 that is not a page of zeros, if there is one and no budget
 * is set; else NULL, and nothing has happened. Logs nothing. Only for host memory.
 */
void *ferry__pool_take(ferry_device *dev, uint64_t bytes);

/*
 * Gives a block of `bytes` back. Work on it that was submitted to the device's default queue may
 * still run; work on other queues has been waited for, or the default queue ordered after it. Never
 * fails.
 */
void ferry__pool_free(ferry_device *dev, enum ferry__pool_kind kind, void *block, uint64_t bytes);

/*
 * Sets the function that the pool calls when a device is full or over its budget. It tries to free
 * `bytes` of memory in use there and returns the number of bytes freed. No lock of the pool is
 * held. The pool does not know the users of its blocks; the layer above does.
 */
typedef uint64_t (*ferry__pool_relief)(ferry_device *dev, uint64_t bytes);
void ferry__pool_set_relief(ferry__pool_relief fn);

/* Sets the function that frees idle blocks of ferry__pool_scratch when the pool is trimmed. */
void ferry__pool_set_lent(void (*trim)(ferry_device *dev));

int ferry__pool_trim(struct ferry__pool *pool);
/*
 * For work that found no device memory: evicts up to `bytes` of memory in use, and frees cached
 * blocks. With bytes > 0 no section may be open.
 */
void ferry__pool_relieve(struct ferry__pool *pool, uint64_t bytes);
int ferry__pool_set_budget(struct ferry__pool *pool, uint64_t bytes);

#endif
