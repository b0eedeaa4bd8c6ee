/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Consecutive runs on a queue under one event. The event covers all of them, and if it fails,
 * everything that they wrote is lost. A single run is a submission with one run; a net's
 * submissions are as long as possible.
 */
#ifndef FERRY_OP_SUBMISSION_H
#define FERRY_OP_SUBMISSION_H

#include "op/repeat.h"

struct ferry__chained;
struct ferry__chains;
struct ferry_operation;
struct ferry_operation_args;

struct ferry__submission {
    ferry_queue *queue; /* the target's queue; NULL: the kernels on the host */
    bool host;          /* operands are the host's copies */
    struct ferry__run *runs;
    size_t n_runs, room_runs;
    ferry_memory_use *uses;
    size_t n_uses, room_uses;
    size_t n_constants;             /* the packed forms that the runs read */
    uint64_t space;                 /* the largest temporary memory and workspace of its runs */
    struct ferry__repeats *repeats; /* the lists that record these runs; owned by the caller. NULL:
                                     * no lists */
    const struct ferry__chains *chains; /* the chains that its runs belong to; NULL: to none */
    const void *who; /* identifies the owner of the runs to be added; set by the caller */
    const void
        *failed; /* the owner of the run at which the latest submission failed; NULL: none, or
                  * all of them */
};

/* Initializes an empty submission with these capacities; the arrays belong to the caller. */
void ferry__submission_init(struct ferry__submission *s, struct ferry__run *runs, size_t room_runs,
                            ferry_memory_use *uses, size_t room_uses);

/*
 * Adds a run of an operation on a queue of its device, whose operands have been checked, and
 * accesses what it reads. The runs added before are submitted first if the run cannot join them
 * (another queue, the host, no more room). ferry__submission_end must be called even after a
 * failure.
 */
int ferry__submission_add(struct ferry__submission *s, struct ferry_operation *o,
                          ferry_queue *q, const struct ferry_operation_args *args);

/*
 * As ferry__submission_add, for a submission with `chains`, which has room for all of its runs and
 * uses. A run that fails is not repeated.
 */
int ferry__submission_add_chained(struct ferry__submission *s, struct ferry_operation *o,
                                  ferry_queue *q, const struct ferry_operation_args *args,
                                  const struct ferry__chained *chained);

/*
 * Submits the added runs, records its event as a use of all their memories, and empties the
 * submission. `err` is an earlier failure: nothing more is submitted then, and outputs that were to
 * be written are lost. Returns it, or the error of submitting.
 */
int ferry__submission_end(struct ferry__submission *s, int err);

#endif
