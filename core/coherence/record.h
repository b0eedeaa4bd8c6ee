/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that was done on copies, and the event that says how it ended: noted after the fact, on as
 * many memories as it touched.
 */
#ifndef FERRY_CORE_RECORD_H
#define FERRY_CORE_RECORD_H

#include "core/device/queue.h"

#include <ferry/memory.h>

/*
 * Notes ferry's own work on `q`, in a section that ended with `e` (NULL: nothing is pending): `to` was
 * written, from what is in `from` (NULL: from nothing else); with `whole`, all that is in use, by work
 * that was ordered after everything there: whether that has failed is nothing to it. No lock is held.
 * Cannot fail: where memory is short, it waits.
 */
void ferry__record_work(ferry_memory *to, ferry_memory *from, ferry_queue *q, ferry_event *e,
                        bool whole);

#endif
