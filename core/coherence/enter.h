/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an access enters a slot, other than by a copy: by zeros, by an overwrite, or with a copy that is
 * valid already; what happens to copies that are shorter or longer than the bytes in use; and whether
 * it would have to wait. The memory's lock is held.
 */
#ifndef FERRY_CORE_ENTER_H
#define FERRY_CORE_ENTER_H

#include "core/coherence/transfer.h"

/* V = ∅, to be read: zeros. `zeroed`: the storage has them already. */
int ferry__enter_first_touch(struct ferry__request *req, struct ferry__replica *r, bool zeroed);

/*
 * The old contents are not wanted. A tail that stays has to be there: whether those who write it have
 * failed, nobody asks any more.
 */
int ferry__enter_overwrite(struct ferry__request *req, struct ferry__replica *r);

/* The copy is valid already. */
int ferry__enter_present(struct ferry__request *req, struct ferry__replica *r);

/*
 * The bytes in use of the request's slot, beyond those that were ever filled, read as zeros from here
 * on: on the request's queue, once nobody reads there.
 */
int ferry__enter_fill_tail(struct ferry__request *req, struct ferry__replica *r);

/*
 * The copies that stay in V when `bytes` are in use: those that do not reach so far go, if a longer one
 * stays. Where the longer ones are on their way they are waited for, since what goes could not be had
 * again should they fail; what has failed leaves request->valid.
 */
uint32_t ferry__enter_reach(struct ferry__request *req, size_t bytes);

/*
 * For an access that is not to wait, to a slot with the replica `r` (NULL: none yet): FERRY_EBUSY if it
 * would, or FERRY_ELOST if it would have to because of contents that have failed. What is found to have
 * failed leaves request->valid.
 */
int ferry__enter_check_nowait(struct ferry__request *req, struct ferry__replica *r);

#endif
