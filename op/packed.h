/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Constants in a plugin's own form: packed once for all operations that want the same form of the same
 * memories, and again when those were written.
 */
#ifndef FERRY_OP_PACKED_H
#define FERRY_OP_PACKED_H

#include "op/plan.h"

#include <ferry/memory.h>

struct ferry__packed;

/* The constants of a step: where they are now. `place` has n_in of its op; others than the packed are
 * not looked at. */
struct ferry__constants {
    const struct ferry__target *target;
    const struct ferry__step *step;
    const ferry_operation_location *place;
};

/*
 * What holds the packed form of these constants, for one more user. Nothing is packed yet.
 * FERRY_ENOMEM, what creating a memory fails with.
 */
int ferry__packed_get(const struct ferry__constants *c, struct ferry__packed **out);

/* Whether it is the packed form of these constants. */
bool ferry__packed_is_of(const struct ferry__packed *p, const struct ferry__constants *c);

/*
 * Packs them on `q` if that was not done since they were written, and gives the packed form to read
 * there. *packs counts one up where it packed. Any thread.
 */
int ferry__packed_access(struct ferry__packed *p, const struct ferry__constants *c, ferry_queue *q,
                         uint64_t *packs, ferry_ref *out);

/* The memory of the packed form: borrowed while there is a user. */
ferry_memory *ferry__packed_memory(const struct ferry__packed *p);

/* One user less. NULL is accepted. */
void ferry__packed_release(struct ferry__packed *p);

#endif
