/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The head-state machine: what an access does to V, which copies it makes, and what it waits for.
 * Shapes are unknown here; bytes are copied by transfer.c, kept by replica.c.
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
 * Sees whether the request's slot holds contents: 0, or the error of its copy, or FERRY_ELOST of the
 * whole. What has failed is published.
 */
int ferry__coherence_settle(struct ferry__request *req);

/* As access, but copies only, and does not wait for the copy. */
int ferry__coherence_prefetch(struct ferry__request *req);

#endif
