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

/* The lists of one pass in order; all zeros: no lists. The caller rewinds before each pass. */
struct ferry__repeats {
    struct ferry__list *lists;
    size_t count, room, at;
};

/*
 * Announces `n` > 0 runs of one target, not the host's, as the pass's next list, on their queue and
 * between ferry_queue_begin and ferry_queue_end; *out_action is what to do. For a target without
 * lists it is FERRY_OP_LIST_RUN, and nothing else happens. The errors of the plugin's begin.
 */
int ferry__repeats_announce(struct ferry__repeats *r, ferry_queue *q, const struct ferry__run *runs,
                            size_t n, ferry_ref workspace, uint32_t *out_action);

/* Ends the recording of the list that was last announced. The errors of the plugin's end. */
int ferry__repeats_close(struct ferry__repeats *r, ferry_queue *q, bool discard);

/* Makes the plugin forget every list after its work. The operations must still exist. */
void ferry__repeats_end(struct ferry__repeats *r);

#endif
