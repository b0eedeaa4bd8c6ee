/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of the pool for the work of one entry (host->scratch). The entries of one queue reuse
 * them: its work runs in order, so no wait is needed between them.
 */
#ifndef FERRY_CORE_LENT_H
#define FERRY_CORE_LENT_H

#include "core/device/device.h"

struct ferry__lent {
    struct ferry__lent *next;
    ferry_queue *queue; /* the queue whose work may still use it */
    void *memory;
    uint64_t bytes;
};

/* Makes this file's blocks the service host->scratch. May be called any number of times. */
void ferry__lent_offer(void);

/* Frees the blocks of a queue whose work is done and that receives no more work. */
void ferry__lent_end(ferry_queue *q);

/* Waits for the work of queues that no thread has reserved, and frees their idle blocks. */
void ferry__lent_trim(ferry_device *dev);

#endif
