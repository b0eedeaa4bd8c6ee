/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents whose only copy failed: all of a memory (`lost`), or the bytes beyond the contents of
 * every valid copy (`tail_lost`). The memory's lock is held.
 */
#ifndef FERRY_CORE_LOST_H
#define FERRY_CORE_LOST_H

#include "core/coherence/replica.h"

/* The code of a memory that ferry_memory_mark_lost marked; no failure has it. */
#define FERRY__LOST_MARKED 1

/*
 * Clears the bits of failed copies in *valid. Call it before their counts of contents are reset:
 * the counts show whether the remaining copies lack a tail.
 */
void ferry__lost_note(ferry_memory *m, uint32_t *valid, uint32_t failed);

/* Whether bytes in use were lost: all of them, or the bytes beyond the valid copies' contents. */
static inline bool ferry__lost_any(ferry_memory *m, uint32_t valid)
{
    return m->lost || (m->tail_lost && valid && ferry__replica_longest(m, valid) < m->used);
}

/*
 * Records and returns FERRY_ELOST for lost contents. `just_found`: this thread's latest error is
 * the cause.
 */
int ferry__lost_say(const ferry_memory *m, bool just_found);

#endif
