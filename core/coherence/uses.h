/* SPDX-License-Identifier: BSD-2-Clause */
/* Pending work on one replica: its writers and readers, and how to wait for them. */
#ifndef FERRY_CORE_USES_H
#define FERRY_CORE_USES_H

#include "core/coherence/state.h"

/* Which uses a new access waits for: a read waits for the writers, a write for all uses. */
enum ferry__after { FERRY__AFTER_WRITERS, FERRY__AFTER_ALL };

/*
 * Makes room for `extra` more uses, so that noting work already submitted cannot fail.
 * FERRY_ENOMEM.
 */
int ferry__uses_reserve(struct ferry__uses **uses, unsigned extra);

/*
 * Notes a use; room was reserved. `event` and `queue` are retained. The latest reader on a queue
 * replaces the earlier ones.
 */
void ferry__uses_add(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue, bool write);

/*
 * Notes work that later accesses wait for like a writer, and whose failure is not attributed to
 * this replica.
 */
void ferry__uses_add_blameless(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue);

/*
 * Replaces all uses by one that ends when the work on `q` so far has ended, after which they were
 * ordered, and whose failure is not attributed to this replica: a copy of no bytes was made, so
 * that its contents cannot have failed. Room was reserved.
 */
int ferry__uses_absolve(struct ferry__uses *uses, ferry_queue *q);

/*
 * Notes the program's own use of a queue, whose work ferry does not see; repeated calls note it
 * once.
 */
void ferry__uses_add_program(struct ferry__uses *uses, ferry_queue *queue, bool write);

/*
 * Removes the program's use of that queue: the use with its event, noted beside it, covers the
 * work.
 */
void ferry__uses_end_program(struct ferry__uses *uses, const ferry_queue *queue);

/*
 * Forgets finished uses, failed ones included. Returns the code of a failed writer, 0 if there is
 * none.
 */
int ferry__uses_settle(struct ferry__uses *uses);

/*
 * After a write on `q` (NULL: the host's) that was ordered after all uses: later accesses need not
 * wait for earlier uses any more, and the references that the program got for other queues are
 * invalid. ferry__uses_reserve was called before.
 */
void ferry__uses_supersede(struct ferry__uses *uses, const ferry_queue *q);

/*
 * Orders later work on `q` after the selected uses; if q is NULL, blocks until they are done. A
 * failed wait is returned, and ferry__uses_settle finds the failed uses again.
 */
int ferry__uses_order(struct ferry__uses *uses, enum ferry__after after, ferry_queue *q);

/*
 * Blocks until all uses are done, by a synchronize if an event cannot be waited for; cannot fail.
 */
void ferry__uses_outlive(struct ferry__uses *uses);

/* The number of uses that ferry__uses_inherit from these uses adds. */
unsigned ferry__uses_heritage(const struct ferry__uses *from);

/*
 * Adds the writers of `from` that have events to the past of `to`, for which room was reserved: a
 * copy made from them fails with them, and is ordered after them.
 */
void ferry__uses_inherit(struct ferry__uses *to, const struct ferry__uses *from);

/* Whether ferry__uses_order would block the calling thread. */
bool ferry__uses_would_block(const struct ferry__uses *uses, enum ferry__after after,
                             const ferry_queue *q);

/* Forgets all uses; the caller has ordered itself after them, or has waited for them. */
void ferry__uses_clear(struct ferry__uses *uses);

/* Forgets all uses and frees the table. */
void ferry__uses_free(struct ferry__uses *uses);

/* Whether there are any uses, or any writers. */
static inline bool ferry__uses_have(const struct ferry__uses *uses, bool writers)
{
    unsigned i;

    for (i = 0; uses && i < uses->count; i++)
        if (uses->at[i].write || !writers)
            return true;
    return uses && uses->past_count;
}

#endif
