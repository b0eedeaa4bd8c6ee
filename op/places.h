/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the operands of a run: checks, and references on a queue. */
#ifndef FERRY_OP_PLACES_H
#define FERRY_OP_PLACES_H

#include <ferry/op.h>

/*
 * Checks that operands are inside their memories, at multiples of their elements' size, and that an
 * output overlaps an input or another output only where the kind allows it. FERRY_EINVAL,
 * FERRY_ESHAPE.
 */
int ferry__places_check(const ferry_op_desc *op, const ferry_operation_args *args);

/* References to each operand's first element, for one run. */
struct ferry__refs {
    ferry_ref in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

/*
 * Accesses the operands on `q` (NULL: in host memory): inputs for reading, then outputs for
 * writing. `skip` has a bit for each input that is not needed. `images` is the number of images of
 * which the operation computes a part in each of several runs; 0: it runs once. The memories of
 * accessed outputs count as being written from here on, *taken is their number. Errors are those
 * of ferry_memory_access.
 */
int ferry__places_take(const ferry_op_desc *op, const ferry_operation_args *args, ferry_queue *q,
                       uint32_t skip, int64_t images, struct ferry__refs *out, uint32_t *taken);

#endif
