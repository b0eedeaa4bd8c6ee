/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of an operation on its way to a queue: first what it reads and writes is brought there, then
 * its steps are submitted.
 */
#ifndef FERRY_OP_RUN_H
#define FERRY_OP_RUN_H

#include "op/places.h"
#include "op/plan.h"

struct ferry__run {
    const void *who; /* see struct ferry__segment */
    ferry_operation *operation;
    struct ferry__refs refs;
    ferry_ref packed[FERRY__PACKED_MAX];
    ferry_memory *constants[FERRY__PACKED_MAX]; /* where they are; retained, NULL: none */
    ferry_ref workspace; /* temporary memory, and behind it the workspace of a step */
    ferry_op_run_args args;
    uint32_t skipped; /* bit i: input i was not needed, its packed form was */
    uint32_t taken;   /* outputs that were taken for writing */
    int64_t done;     /* entries that were called: what is enqueued is not enqueued again */
};

/*
 * Takes packed constants, inputs and outputs for a run on `q`, the target's queue (NULL: the kernels on the host).
 * out->taken is right also after a failure.
 */
int ferry__run_take(ferry_operation *o, ferry_queue *q, const ferry_operation_args *args,
                    struct ferry__run *out);

/* Lets go of what ferry__run_take retained, whatever that returned. */
void ferry__run_end(struct ferry__run *r);

/*
 * Submits the steps; `workspace` has the operation's room. After a failure another call goes on with the
 * step that failed.
 */
int ferry__run_submit(struct ferry__run *r, ferry_queue *q, ferry_ref workspace);

#endif
