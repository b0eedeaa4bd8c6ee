/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is around every transition of a memory: its lock, and what may only be done without it.
 */
#ifndef FERRY_CORE_REQUEST_H
#define FERRY_CORE_REQUEST_H

#include "core/coherence/transfer.h"

/*
 * Takes the memory's lock, for an access at `where` (NULL: the host), and sets the request up.
 * FERRY_EFORKED in a child of fork, if a thread of the parent had the lock; with `nowait`,
 * FERRY_EBUSY if another thread has it; FERRY_EINVAL while this one keeps a queue to itself.
 * Otherwise it does not fail.
 */
int ferry__request_begin(struct ferry__request *req, ferry_memory *m, ferry_device *where,
                         bool nowait);

/*
 * The lock alone, with the errors of fork and `nowait`, for what neither says anything to the log nor
 * lets anything go; pthread_mutex_unlock gives it back.
 */
int ferry__request_lock(ferry_memory *m, bool nowait);

/* Gives the lock back, and does what had to wait for that. */
void ferry__request_end(struct ferry__request *req);

#endif
