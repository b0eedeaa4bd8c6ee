/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making room on a device: copies of memories under wont_use go, those that are valid elsewhere
 * first, the others after they were written back to the host.
 */
#ifndef FERRY_CORE_EVICT_H
#define FERRY_CORE_EVICT_H

#include "core/coherence/memory_state.h"

/* Puts a memory, whose lock is held, among those that may be evicted. */
void ferry__evict_offer(ferry_memory *m);

#endif
