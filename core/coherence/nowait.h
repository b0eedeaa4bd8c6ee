/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether an access would have to wait: FERRY_NOWAIT asks before anything is changed.
 */
#ifndef FERRY_CORE_NOWAIT_H
#define FERRY_CORE_NOWAIT_H

#include "core/coherence/transfer.h"

/*
 * For an access that is not to wait, to a slot with the replica `r` (NULL: none yet): FERRY_EBUSY if it
 * would, or FERRY_ELOST if it would have to because of contents that have failed. What is found to have
 * failed is published.
 */
int ferry__nowait_check(struct ferry__request *req, struct ferry__replica *r);

#endif
