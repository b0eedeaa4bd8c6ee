/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memories under wont_use, in the order of their promises. A memory's lock comes before the
 * list's; whoever holds the list's only tries for a memory's.
 */
#ifndef FERRY_CORE_IDLE_H
#define FERRY_CORE_IDLE_H

#include "core/coherence/memory_state.h"

/* Puts a memory last on the list, or takes it out. Its lock is held, or nobody else knows it. */
void ferry__idle_offer(ferry_memory *m);
void ferry__idle_withdraw(ferry_memory *m);

/* Holds the list as it is, and returns its first; NULL if it is empty. */
ferry_memory *ferry__idle_lock(void);
void ferry__idle_unlock(void);

#endif
