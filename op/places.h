/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the operands of a run lie: whether they may, and their references on a queue.
 */
#ifndef FERRY_OP_PLACES_H
#define FERRY_OP_PLACES_H

#include <ferry/op.h>

/*
 * Whether operands lie inside their memories, at multiples of their elements' size, and whether no
 * output meets an input or another output but where the kind allows it. FERRY_EINVAL, FERRY_ESHAPE.
 */
int ferry__places_check(const ferry_op_desc *op, const ferry_operation_args *args);

/* References to each operand's first element, for one run. */
struct ferry__refs {
    ferry_ref in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

/*
 * Takes the operands on `q` (NULL: in host memory): inputs to read, then outputs to write. `skip` has
 * a bit for each input that is not needed. Memories that outputs were taken of are written from here
 * on, *taken says how many. Errors as ferry_memory_access.
 */
int ferry__places_take(const ferry_op_desc *op, const ferry_operation_args *args, ferry_queue *q,
                       uint32_t skip, struct ferry__refs *out, uint32_t *taken);

#endif
