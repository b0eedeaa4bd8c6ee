/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making room on a device: copies of memories under wont_use go, those that are valid elsewhere
 * first, the others after they were written back to the host.
 */
#ifndef FERRY_CORE_EVICT_H
#define FERRY_CORE_EVICT_H

#include "core/coherence/memory.h"

/*
 * Puts a memory among those that may be evicted, or takes it out. Its lock is held, or nobody else
 * knows it.
 */
void ferry__evict_offer(ferry_memory *m);
void ferry__evict_withdraw(ferry_memory *m);

/*
 * Runs the deleters of what this thread's evictions let go of, once it holds no core lock; called
 * where a memory's was released.
 */
void ferry__evict_finish(void);

#endif
