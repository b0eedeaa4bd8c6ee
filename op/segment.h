/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs that follow one another on a queue, under one event: it covers them all, and if it fails all
 * that they wrote is lost. A single run is a segment of one; a net's are as long as they can be.
 */
#ifndef FERRY_OP_SEGMENT_H
#define FERRY_OP_SEGMENT_H

#include "op/repeat.h"

struct ferry__segment {
    ferry_queue *queue; /* the target's; NULL: the kernels on the host */
    bool host;          /* operands are the host's copies */
    struct ferry__run *runs;
    size_t n_runs, room_runs;
    ferry_memory_use *uses;
    size_t n_uses, room_uses;
    size_t n_constants; /* packed forms that the runs read */
    uint64_t space;     /* temporary memory and workspace of the run that needs most */
    struct ferry__repeats *repeats; /* where its lists are remembered; the caller's. NULL: nowhere */
    const void *who;    /* whose run is added next: the caller's to set */
    const void
        *failed; /* whose run the latest submitting failed at; NULL: none, or at all of them */
};

/* An empty segment with room for that many; the arrays are the caller's. */
void ferry__segment_init(struct ferry__segment *s, struct ferry__run *runs, size_t room_runs,
                         ferry_memory_use *uses, size_t room_uses);

/*
 * Adds a run of an operation on a queue of its device, whose places have been checked: what it reads is
 * brought there. What was added before is submitted first where it does not go together (another
 * queue, the host's turn, no more room). After a failure ferry__segment_end is still due.
 */
int ferry__segment_add(struct ferry__segment *s, ferry_operation *o, ferry_queue *q,
                       const ferry_operation_args *args);

/*
 * Submits what was added, notes its event on all that it used, and empties the segment. `err` is a
 * failure of before: nothing more is submitted then, and what was to be written is lost. Returns it,
 * or what submitting fails with.
 */
int ferry__segment_end(struct ferry__segment *s, int err);

#endif
