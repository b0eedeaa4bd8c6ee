/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of the pool for the work of one entry (host->scratch). They go from entry to entry of one
 * queue, whose work is in order, so that nothing has to be waited for between them.
 */
#ifndef FERRY_CORE_LENT_H
#define FERRY_CORE_LENT_H

#include "core/device/device.h"

struct ferry__lent {
    struct ferry__lent *next;
    ferry_queue *queue; /* the one whose work may still use it */
    void *memory;
    uint64_t bytes;
};

/* Makes it the service of host->scratch. Any number of times. */
void ferry__lent_offer(void);

/* Gives the blocks of a queue back, whose work is done and which takes no more. */
void ferry__lent_end(ferry_queue *q);

/* Frees the idle blocks of queues that no thread has reserved, and waits for their work. */
void ferry__lent_trim(ferry_device *dev);

#endif
