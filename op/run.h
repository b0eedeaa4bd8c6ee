/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of an operation on a queue: its operands are accessed first, then its steps are
 * submitted.
 */
#ifndef FERRY_OP_RUN_H
#define FERRY_OP_RUN_H

#include "op/places.h"
#include "op/plan.h"

/* The distance of references to an operand, in bytes. */
struct ferry__shift {
    int64_t image, chain; /* from one image to the next, and from one chain to the next */
};

/* How a run is repeated by chains (op/chain.h). */
struct ferry__chained {
    int64_t images; /* of the sub-batches that it computes; 0: the run is not in chains */
    struct ferry__shift in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

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
    struct ferry__chained chained; /* set by ferry__submission_add_chained */
};

/*
 * Accesses packed constants, inputs and outputs for a run on `q`, the target's queue (NULL: the
 * kernels on the host). `images` as of ferry__places_take. out->taken is set even after a failure.
 */
int ferry__run_take(ferry_operation *o, ferry_queue *q, const ferry_operation_args *args,
                    int64_t images, struct ferry__run *out);

/* Releases what ferry__run_take retained, even after a failure. */
void ferry__run_end(struct ferry__run *r);

/*
 * Submits the steps; `workspace` has the size that the operation needs. After a failure another
 * call continues with the step that failed.
 */
int ferry__run_submit(struct ferry__run *r, ferry_queue *q, ferry_ref workspace);

/* Calls the entries of a run whose `workspace` is set; for a chain, on its thread. */
int ferry__run_enqueue(struct ferry__run *r, void *ctx, void *queue);

#endif
