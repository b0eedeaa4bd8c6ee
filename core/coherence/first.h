/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The short way to a memory's first bytes and away from its last ones, where nothing is at work and
 * nothing moves: the home computes in the host's memory, at once, and only the host has touched the
 * memory. The long way, by a request, does the same and more.
 */
#ifndef FERRY_CORE_FIRST_H
#define FERRY_CORE_FIRST_H

#include "core/coherence/memory_state.h"

/*
 * The host's first access to a memory that nobody has touched: the home's cached block, zeros unless
 * it is to be overwritten. False: nothing has changed, and it takes the long way.
 */
bool ferry__first_at_host(ferry_memory *m, unsigned access, ferry_ref *out);

/* Gives the one block back, if any, of a memory that nobody else has a reference to. False, as above. */
bool ferry__first_give_back(ferry_memory *m);

#endif
