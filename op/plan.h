/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of an operation: its steps, each an entry of one target, and the locations of their
 * operands.
 */
#ifndef FERRY_OP_PLAN_H
#define FERRY_OP_PLAN_H

#include "op/target.h"

#include <ferry/op_tier.h>

/* The source of a step's operand. */
enum ferry__source {
    FERRY__FROM_IN,  /* input `index` of the operation */
    FERRY__FROM_OUT, /* output `index` of the operation */
    FERRY__FROM_TEMP /* the plan's temporary memory */
};

/*
 * The memory to free for an entry that failed for lack of memory: the entry may need a library's
 * workspace and code.
 */
#define FERRY__PLAN_ROOM (UINT64_C(64) << 20)

struct ferry__binding {
    enum ferry__source source;
    uint32_t index;
    int64_t offset; /* bytes from the operand's first element, or from the beginning of the
                     * temporary memory */
    int64_t stride; /* added in each repetition, in bytes */
};

/* One entry of the target, run `repeat` times. */
struct ferry__step {
    ferry_op_desc op;
    ferry_op_answer answer;
    void *prepared;  /* NULL until ferry__plan_prepare */
    uint32_t packed; /* the index of its packed form in the plan, if answer.packed_bytes is not 0 */
    struct ferry__binding in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
};

/* The limit of packed forms in a plan; further steps use their constants unpacked. */
#define FERRY__PACKED_MAX 8u

/*
 * Steps run in order: `before` of them once, the next `repeated` of them `repeat` times (one image
 * at a time requires temporary memory for one image only), then the others once.
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
    uint32_t math; /* the approximations that its steps use, as bits */
};

/*
 * Selects the target of a checked operation. On success the caller has to end the plan.
 * FERRY_ENOMEM; FERRY_EUNSUPPORTED if no target supports it, or if only the host does and the
 * device is strict.
 */
int ferry__plan_make(ferry_device *dev, const ferry_op_desc *op, struct ferry__plan *out);

/* As ferry__plan_make on the host, whatever the device supports and whatever FERRY_STRICT is. */
int ferry__plan_make_on_host(ferry_device *dev, const ferry_op_desc *op, struct ferry__plan *out);

/* Prepares every step. After a failure no step is prepared. */
int ferry__plan_prepare(struct ferry__plan *plan);

/* Destroys the steps and the plan. */
void ferry__plan_end(struct ferry__plan *plan);

/*
 * Appends a step, asks the target whether it supports it, and adds its needs; 1 if it does, 0 if
 * not, FERRY_ENOMEM. There are `n_in` and `n_out` bindings, as in the op.
 */
int ferry__plan_add(struct ferry__plan *plan, const ferry_op_desc *op,
                    const struct ferry__binding *in, const struct ferry__binding *out);

/*
 * Appends a step of another plan of the same target, with bindings for this plan; results as
 * ferry__plan_add.
 */
int ferry__plan_take(struct ferry__plan *plan, const struct ferry__step *step);

/*
 * Appends the steps of `op` on the plan's target alone: one entry, several entries, or a
 * computation in F32. 1, 0 or FERRY_ENOMEM, and the resulting tier. The plan must be empty; it is
 * empty after a failure.
 */
int ferry__plan_by(struct ferry__plan *plan, const ferry_op_desc *op,
                   ferry_operation_tier *out_tier);

/* Removes steps from the end until `n` are left. */
void ferry__plan_cut(struct ferry__plan *plan, uint32_t n);

/*
 * compose.c: appends the steps that `op`, without its epilogue, can be composed of; 1 if the target
 * supports all of them, 0 if not (the plan is then unchanged), FERRY_ENOMEM.
 */
int ferry__compose(struct ferry__plan *plan, const ferry_op_desc *op);

/*
 * compose_narrow.c: as ferry__compose, for an operation on F16, BF16, I8 or U8 that is computed in
 * F32, including its epilogue.
 */
int ferry__compose_narrow(struct ferry__plan *plan, const ferry_op_desc *op);

/*
 * compose.c: appends the steps of op's epilogue from `first` on, in place on its output; results as
 * ferry__compose.
 */
int ferry__compose_epilogue(struct ferry__plan *plan, const ferry_op_desc *op, uint32_t first);

#endif
