/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * V, the set of valid copies: how it is published, and what is left behind where a copy loses its bit.
 * The memory's lock is held.
 */
#ifndef FERRY_CORE_VALID_H
#define FERRY_CORE_VALID_H

#include "core/coherence/transfer.h"

static inline uint32_t ferry__valid_bit(unsigned slot)
{
    return UINT32_C(1) << slot;
}

/* Publishes V, and what settled accesses need to know. */
void ferry__valid_publish(ferry_memory *m, uint32_t valid);

/*
 * Copies that are about to lose their bits remember what their devices' default queues may still be
 * doing with them. What an event fails with; V is as it was.
 */
int ferry__valid_leave_events(struct ferry__request *req, uint32_t losers);

/*
 * Makes `valid` the request's V (0: nothing is), leaving events behind where copies lose their bits.
 */
int ferry__valid_claim(struct ferry__request *req, uint32_t valid);

/*
 * Imported bytes go to the side that is to have them, as V says. Returns V; where they cannot be
 * handed over, what they are the copy of depends on who has them now.
 */
uint32_t ferry__valid_hand_back(struct ferry__request *req, uint32_t valid);

#endif
