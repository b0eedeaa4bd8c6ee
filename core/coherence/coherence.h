/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The head-state machine: how an access changes V, which copies it makes, and which work it waits
 * for. It does not know shapes; transfer.c copies bytes, replica.c owns storage.
 */
#ifndef FERRY_CORE_COHERENCE_H
#define FERRY_CORE_COHERENCE_H

#include "core/coherence/transfer.h"

/*
 * Makes the request's slot valid for its access and publishes the new state; *out is its replica.
 * The memory's lock is held. On failure the published state is as before, but for copies found lost
 * and for the host's, which a staged copy may have made valid.
 */
int ferry__coherence_access(struct ferry__request *req, ferry_ref *out);

/*
 * Checks whether the request's slot has valid contents: 0, or the error of its copy, or FERRY_ELOST
 * for the whole memory. Detected failures are published.
 */
int ferry__coherence_settle(struct ferry__request *req);

/* As ferry__coherence_access, but only copies, and does not wait for the copy. */
int ferry__coherence_prefetch(struct ferry__request *req);

/* ---- around a transition: the memory's lock ---- */

/*
 * Takes the memory's lock, for an access at `where` (NULL: the host), and sets the request up.
 * FERRY_EFORKED in a child of fork, if a thread of the parent had the lock; with `nowait`,
 * FERRY_EBUSY if another thread has it; FERRY_EINVAL while this thread has reserved a queue.
 * Otherwise it does not fail.
 */
int ferry__request_begin(struct ferry__request *req, ferry_memory *m, ferry_device *where,
                         bool nowait);

/*
 * Takes only the lock, with the errors of fork and `nowait`, for callers that neither log nor
 * release anything; pthread_mutex_unlock releases it.
 */
int ferry__request_lock(ferry_memory *m, bool nowait);

/* Releases the lock, writes the held log lines and runs deleters. */
void ferry__request_end(struct ferry__request *req);

/* ---- V, the set of valid copies; the lock is held ---- */

/* Publishes V, and the flags that settled accesses read. */
void ferry__valid_publish(ferry_memory *m, uint32_t valid);

/*
 * Records, for copies that are about to lose their bits, an event after the pending work of their
 * devices' default queues. Returns the error of recording an event; V is unchanged.
 */
int ferry__valid_leave_events(struct ferry__request *req, uint32_t losers);

/*
 * Makes `valid` the request's V (0: the empty set), after recording events for copies that lose
 * their bits.
 */
int ferry__valid_claim(struct ferry__request *req, uint32_t valid);

/*
 * Hands imported bytes to the side that V requires. Returns V; if they cannot be handed over, the
 * set of copies that is valid with the present mapping.
 */
uint32_t ferry__valid_hand_back(struct ferry__request *req, uint32_t valid);

#endif
