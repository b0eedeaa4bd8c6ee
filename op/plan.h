/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an operation is computed: the steps, each an entry of one target, and where their operands are.
 */
#ifndef FERRY_OP_PLAN_H
#define FERRY_OP_PLAN_H

#include "op/target.h"

#include <ferry/op.h>

/* Where an operand of a step comes from. */
enum ferry__source {
    FERRY__FROM_IN,  /* input `index` of the operation */
    FERRY__FROM_OUT, /* output `index` */
    FERRY__FROM_TEMP /* the plan's temporary memory */
};

/* What an entry that found no memory may want besides: a library's workspace, and code. */
#define FERRY__PLAN_ROOM (UINT64_C(64) << 20)

struct ferry__binding {
    enum ferry__source source;
    uint32_t index;
    int64_t offset; /* bytes from the operand's first element, or into the temporary memory */
    int64_t stride; /* bytes further on at each repetition */
};

/* One entry of the target, run `repeat` times. */
struct ferry__step {
    ferry_op_desc op;
    ferry_op_answer answer;
    void *prepared; /* NULL until ferry__plan_prepare */
    uint32_t
        packed; /* which of the plan's packed forms it has, where answer.packed_bytes is not 0 */
    struct ferry__binding in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

/* The most packed forms that a plan has; further steps take their constants as they are. */
#define FERRY__PACKED_MAX 8u

/*
 * Steps run in their order: `before` of them once, the next `repeated` of them `repeat` times (an image at
 * a time needs temporary memory for one image), then the others once.
 */
struct ferry__plan {
    struct ferry__target target;
    ferry_operation_tier tier;
    struct ferry__step *steps;
    uint32_t n_steps;
    uint32_t n_packed;
    uint32_t before, repeated;
    int64_t repeat;
    uint64_t temporary_bytes, workspace_bytes, packed_bytes;
    uint8_t order[FERRY_OP_AXES];
};

/*
 * Decides who computes a checked operation. On success the plan is the caller's to end. FERRY_ENOMEM;
 * FERRY_EUNSUPPORTED where nobody can, or where the device is strict and only the host can.
 */
int ferry__plan_make(ferry_device *dev, const ferry_op_desc *op, struct ferry__plan *out);

/* The same on the host, whatever the device can and whether it is strict. */
int ferry__plan_make_on_host(ferry_device *dev, const ferry_op_desc *op, struct ferry__plan *out);

/* Prepares every step. What failed leaves none prepared. */
int ferry__plan_prepare(struct ferry__plan *plan);

/* Ends the steps and the plan. */
void ferry__plan_end(struct ferry__plan *plan);

/*
 * Appends a step, asks the target whether it can, and adds up what it needs; 1 if it can, 0 if not,
 * FERRY_ENOMEM. The bindings are those given, `n_in` and `n_out` of the op.
 */
int ferry__plan_add(struct ferry__plan *plan, const ferry_op_desc *op,
                    const struct ferry__binding *in, const struct ferry__binding *out);

/* Appends a step that another plan of the same target has, bound to what is this plan's; likewise. */
int ferry__plan_take(struct ferry__plan *plan, const struct ferry__step *step);

/*
 * Appends the steps of `op` by the plan's target alone: one entry, several, or in F32; 1, 0 or FERRY_ENOMEM,
 * and who then computes. The plan has no steps before; if it failed it has none.
 */
int ferry__plan_by(struct ferry__plan *plan, const ferry_op_desc *op,
                   ferry_operation_tier *out_tier);

/* Takes the target's steps back until `n` are left. */
void ferry__plan_cut(struct ferry__plan *plan, uint32_t n);

/*
 * compose.c: appends the steps that `op`, without its epilogue, can be made of; 1 if the target can
 * do them all, 0 if not (the plan is then as it was), FERRY_ENOMEM.
 */
int ferry__compose(struct ferry__plan *plan, const ferry_op_desc *op);

/* compose_half.c: the same of an operation on F16 or BF16, with its epilogue, in F32. */
int ferry__compose_half(struct ferry__plan *plan, const ferry_op_desc *op);

/* compose.c: the steps of op's epilogue from `first` on, in place on its output; likewise. */
int ferry__compose_epilogue(struct ferry__plan *plan, const ferry_op_desc *op, uint32_t first);

#endif
