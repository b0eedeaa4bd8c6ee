/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packed constants: constants in a plugin's own form, packed once for all operations that need the
 * same form of the same memories, and again after these were written.
 */
#ifndef FERRY_OP_PACKED_H
#define FERRY_OP_PACKED_H

#include "op/plan.h"

#include <ferry/op.h>

struct ferry__packed;

/* The present locations of a step's constants. `place` has an entry for each of the op's n_in
 * inputs; only those of constants are used. */
struct ferry__constants {
    const struct ferry__target *target;
    const struct ferry__step *step;
    const ferry_operation_location *place;
};

/*
 * Gets the packed form of these constants for one more user, and creates it unpacked if necessary.
 * FERRY_ENOMEM, the errors of creating a memory.
 */
int ferry__packed_get(const struct ferry__constants *c, struct ferry__packed **out);

/* Whether `p` is the packed form of these constants. */
bool ferry__packed_is_of(const struct ferry__packed *p, const struct ferry__constants *c);

/*
 * Packs the constants on `q` if they were written since they were last packed, and accesses the
 * packed form on `q` for reading. *packs is incremented if it packed. Callable from any thread.
 */
int ferry__packed_access(struct ferry__packed *p, const struct ferry__constants *c, ferry_queue *q,
                         uint64_t *packs, ferry_ref *out);

/* The memory of the packed form, borrowed while it has a user. */
ferry_memory *ferry__packed_memory(const struct ferry__packed *p);

/* Removes one user. NULL is accepted. */
void ferry__packed_release(struct ferry__packed *p);

#endif
