/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The idle memories (ferry_memory_allow_eviction), in the order of those calls. No thread waits
 * while it holds the list's lock: a memory's lock is taken before it, and a thread that holds the
 * list's lock only tries a memory's lock.
 */
#ifndef FERRY_CORE_IDLE_H
#define FERRY_CORE_IDLE_H

#include "core/coherence/state.h"

/* Puts a memory, whose lock is held, last on the list, or takes it out. */
void ferry__idle_offer(ferry_memory *m);
void ferry__idle_withdraw(ferry_memory *m);

/*
 * An iteration over the list. Other threads may add, remove and iterate meanwhile, because the
 * position is a node of the list. Memories added after its beginning are not visited.
 */
struct ferry__idle_walk {
    struct ferry__idle_node at;
    uint64_t last;
};

void ferry__idle_begin(struct ferry__idle_walk *w);
void ferry__idle_end(struct ferry__idle_walk *w);

/*
 * Returns the next memory whose lock is free. The lock is then held, which keeps the memory alive.
 * NULL at the end.
 */
ferry_memory *ferry__idle_next(struct ferry__idle_walk *w);

/*
 * Adds a memory, whose lock is held, to the idle memories. When a device needs room, their copies
 * there are freed: first those that are valid elsewhere too, then the others, which are written
 * back to the host before. (Defined in evict.c, which is above the transitions that withdraw a
 * memory.)
 */
void ferry__evict_offer(ferry_memory *m);

#endif
