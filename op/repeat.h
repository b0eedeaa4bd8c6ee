/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Announces lists of runs that repeat to a plugin that can record them: the entries begin, end and
 * forget of "ferry.op/1".
 */
#ifndef FERRY_OP_REPEAT_H
#define FERRY_OP_REPEAT_H

#include <ferry/memory.h>

struct ferry__list;
struct ferry__run;

/*
 * The lists of one pass in their order; a zeroed structure has no lists. The caller sets `at` back
 * to 0 before each pass.
 */
struct ferry__repeats {
    struct ferry__list *lists;
    size_t count, room, at;
};

/*
 * Announces `n` > 0 runs of one target, which is not the host's, as the pass's next list. Called
 * between ferry_queue_begin and ferry_queue_end of their queue. *out_action tells the caller how to
 * submit the runs. For a target without lists it is FERRY_OP_LIST_RUN, and nothing else happens.
 * Errors are those of the plugin's begin.
 */
int ferry__repeats_announce(struct ferry__repeats *r, ferry_queue *q, const struct ferry__run *runs,
                            size_t n, ferry_ref workspace, uint32_t *out_action);

/* Ends the recording of the list that was last announced. Errors are those of the plugin's end. */
int ferry__repeats_close(struct ferry__repeats *r, ferry_queue *q, bool discard);

/* Makes the plugin forget every list once its work is done. The operations must still exist. */
void ferry__repeats_end(struct ferry__repeats *r);

#endif
