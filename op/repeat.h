/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Announcing lists of runs that repeat to a plugin that can record them: the entries begin, end and
 * forget of "ferry.op/1".
 */
#ifndef FERRY_OP_REPEAT_H
#define FERRY_OP_REPEAT_H

#include "op/run.h"

struct ferry__list;

/* The lists of one pass in their order; all zero is none. The caller rewinds before each pass. */
struct ferry__repeats {
    struct ferry__list *lists;
    size_t count, room, at;
};

/*
 * Announces `n` > 0 runs of one target, not the host's, as the next list of the pass, on their queue
 * inside a section; *out_action is how to go on. A target without lists: FERRY_OP_LIST_RUN, and
 * nothing else happens. Fails as the plugin's begin does.
 */
int ferry__repeats_announce(struct ferry__repeats *r, ferry_queue *q, const struct ferry__run *runs,
                            size_t n, ferry_ref workspace, uint32_t *out_action);

/* Ends the recording of the list announced last. Fails as the plugin's end does. */
int ferry__repeats_close(struct ferry__repeats *r, ferry_queue *q, bool discard);

/* Has the plugin forget every list, after its work. The operations have to be there still. */
void ferry__repeats_end(struct ferry__repeats *r);

#endif
