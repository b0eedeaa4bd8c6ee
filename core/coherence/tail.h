/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies that are shorter or longer than the bytes in use (ferry__replica_filled), since a blob has
 * grown back or shrunk. The memory's lock is held.
 */
#ifndef FERRY_CORE_TAIL_H
#define FERRY_CORE_TAIL_H

#include "core/coherence/transfer.h"

/* Whether the request's slot has a valid copy that is too short: to fill it up is a write. */
bool ferry__tail_is_short(struct ferry__request *req);

/* Whether contents beyond the bytes in use stay in the request's slot though these are overwritten. */
bool ferry__tail_stays(struct ferry__request *req);

/*
 * The bytes in use of the request's slot, beyond those that were ever filled, read as zeros from here
 * on: on the request's queue, once nobody reads there.
 */
int ferry__tail_fill(struct ferry__request *req, struct ferry__replica *r);

/*
 * The copies that stay in V when `bytes` are in use: those that do not reach so far go, if a longer one
 * stays. Where the longer ones are on their way they are waited for, since what goes could not be had
 * again should they fail; what has failed leaves request->valid.
 */
uint32_t ferry__tail_reach(struct ferry__request *req, size_t bytes);

#endif
