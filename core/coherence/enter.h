/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an access enters a slot without a copy: by zeros, by an overwrite, or with a copy that is
 * valid already; the treatment of copies that are shorter or longer than the bytes in use; and
 * whether an access would have to wait. The memory's lock is held.
 */
#ifndef FERRY_CORE_ENTER_H
#define FERRY_CORE_ENTER_H

#include "core/coherence/transfer.h"

/*
 * Enters for a read when V is empty: the contents are zeros. `zeroed`: the storage already has
 * zeros.
 */
int ferry__enter_first_touch(struct ferry__request *req, struct ferry__replica *r, bool zeroed);

/*
 * Enters for an overwrite of the old contents. A tail that stays has to be complete: the overwrite
 * waits for its writers, and ignores whether they failed.
 */
int ferry__enter_overwrite(struct ferry__request *req, struct ferry__replica *r);

/* Enters a slot whose copy is valid. */
int ferry__enter_present(struct ferry__request *req, struct ferry__replica *r);

/*
 * Zeros those bytes in use of the request's slot that were never filled, on the request's queue,
 * after its pending readers.
 */
int ferry__enter_fill_tail(struct ferry__request *req, struct ferry__replica *r);

/*
 * The copies that stay in V when `bytes` are in use: shorter copies leave if a longer one stays.
 * Pending longer copies are waited for, since the shorter ones could not be restored if those
 * failed; failed copies leave request->valid.
 */
uint32_t ferry__enter_reach(struct ferry__request *req, size_t bytes);

/*
 * For an access that must not wait, to a slot with the replica `r` (NULL: none yet): FERRY_EBUSY if
 * it would wait, or FERRY_ELOST if the contents have failed. Failed copies leave request->valid.
 */
int ferry__enter_check_nowait(struct ferry__request *req, struct ferry__replica *r);

/*
 * For a request that must not wait, when the host's bytes are taken back from a lost device:
 * FERRY_EBUSY if the end of the device's import would wait for work on them.
 */
int ferry__enter_check_import(const struct ferry__request *req);

#endif
