/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <math.h>

/* SOFTMAX: lines along one axis, found by a walk over the others. */

struct softmax {
    const void *x;
    void *y;
    int64_t length, x_step, y_step; /* of a line */
    int64_t x_next, y_next;         /* from a line to the next */
    bool logarithm;
};

#define IMPL "softmax_impl.h"
#include "reals_impl.h"

static int softmax_plan(struct cpu_op *p)
{
    const ferry_operand *x = &p->op.in[0], *y = &p->op.out[0];
    uint32_t axis = p->op.params.softmax.axis;
    int64_t shape[FERRY_OP_AXES];

    if (!cpu_op_is_real(p) || axis >= x->rank)
        return FERRY_EUNSUPPORTED;
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i == axis ? 1 : x->shape[i];
    walk_begin(&p->plan.walk, x->rank, shape);
    walk_add(&p->plan.walk, y->stride);
    walk_add(&p->plan.walk, x->stride);
    walk_end(&p->plan.walk);
    return 0;
}

static void softmax_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    uint32_t axis = p->op.params.softmax.axis;
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    struct softmax s = { .x = args->in[0],
                         .y = args->out[0],
                         .length = p->op.in[0].shape[axis],
                         .x_step = p->op.in[0].stride[axis],
                         .y_step = p->op.out[0].stride[axis],
                         .x_next = walk_step(&p->plan.walk, 1),
                         .y_next = walk_step(&p->plan.walk, 0),
                         .logarithm = p->op.params.softmax.logarithm != 0 };

    walk_all(&p->plan.walk, d->workers, 16 * s.length, is_f32 ? softmax_row_f32 : softmax_row_f64,
             &s);
}

const struct cpu_op_kind cpu_op_softmax = {
    .kind = FERRY_OP_SOFTMAX,
    .plan = softmax_plan,
    .run = softmax_run,
};
