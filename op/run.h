/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of an operation on a queue: its operands are accessed first, then its steps are
 * submitted.
 */
#ifndef FERRY_OP_RUN_H
#define FERRY_OP_RUN_H

#include "op/places.h"
#include "op/plan.h"

struct ferry__run {
    const void *who; /* see struct ferry__submission */
    ferry_operation *operation;
    struct ferry__refs refs;
    ferry_ref packed[FERRY__PACKED_MAX];
    ferry_memory *constants[FERRY__PACKED_MAX]; /* the memories of constants; retained; NULL:
                                                 * none */
    ferry_ref workspace; /* temporary memory, followed by a step's workspace */
    ferry_op_run_args args;
    uint32_t skipped; /* bit i: of input i only the packed form was accessed */
    uint32_t taken;   /* the number of outputs that were accessed for writing */
    int64_t done;     /* the number of entries that were called, and are not called again */
};

/*
 * Accesses packed constants, inputs and outputs for a run on `q`, the target's queue (NULL: the
 * kernels on the host). out->taken is set even after a failure.
 */
int ferry__run_take(ferry_operation *o, ferry_queue *q, const ferry_operation_args *args,
                    struct ferry__run *out);

/* Releases what ferry__run_take retained, even after a failure. */
void ferry__run_end(struct ferry__run *r);

/*
 * Submits the steps; `workspace` has the size that the operation needs. After a failure another
 * call continues with the step that failed.
 */
int ferry__run_submit(struct ferry__run *r, ferry_queue *q, ferry_ref workspace);

#endif
