/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <math.h>

/* The data passes of UNARY, BINARY and REDUCE, by a walk over dx. */

struct slopes {
    const struct cpu_op *op;
    int64_t step[4];   /* strides of dx, dy, and further operands */
    const void *in[3]; /* dy is the first */
    void *dx;
};

#define IMPL "elementwise_backward_impl.h"
#include "reals_impl.h"

/* Computes elements that are contiguous in all operands. */
static void unary_vectors(void *arg, const int64_t *offset, int64_t n)
{
    const struct slopes *s = arg;
    const ferry_op_params *params = &s->op->op.params;

    if (!s->op->loops->slope(params->unary.function, params->unary.a, params->unary.b, n,
                             (const float *)s->in[0] + offset[1],
                             (const float *)s->in[1] + offset[2], (float *)s->dx + offset[0]))
        unary_row_f32(arg, offset, n);
}

/* Adds an input that is broadcast along the axes where its size is 1. */
static void add_repeated(struct cpu_walk *w, const ferry_operand *o, const ferry_operand *whole)
{
    int64_t stride[FERRY_OP_AXES];

    for (uint32_t i = 0; i < whole->rank; i++)
        stride[i] = o->shape[i] == 1 ? 0 : o->stride[i];
    walk_add(w, stride);
}

static int plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.walk;

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    for (uint32_t i = 0; i < p->op.n_in; i++)
        add_repeated(w, &p->op.in[i], &p->op.out[0]);
    walk_end(w);
    return 0;
}

static void run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args,
                walk_body floats, walk_body doubles)
{
    const struct cpu_walk *w = &p->plan.walk;
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    struct slopes s = { .op = p, .in = { args->in[0] }, .dx = args->out[0] };

    for (uint32_t i = 0; i < w->operands; i++)
        s.step[i] = walk_step(w, i);
    for (uint32_t i = 1; i < p->op.n_in; i++)
        s.in[i] = args->in[i];
    if (floats == unary_vectors && (s.step[0] != 1 || s.step[1] != 1 || s.step[2] != 1))
        floats = unary_row_f32;
    walk_all(w, d->workers, is_f32 ? 12 : 24, is_f32 ? floats : doubles, &s);
}

static void unary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    run(d, p, args, unary_vectors, unary_row_f64);
}

const struct cpu_op_kind cpu_op_unary_data = {
    .kind = FERRY_OP_UNARY,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = plan,
    .run = unary_run,
};

static void binary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    run(d, p, args, binary_row_f32, binary_row_f64);
}

const struct cpu_op_kind cpu_op_binary_data = {
    .kind = FERRY_OP_BINARY,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = plan,
    .run = binary_run,
};

static void reduce_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    run(d, p, args, reduce_row_f32, reduce_row_f64);
}

const struct cpu_op_kind cpu_op_reduce_data = {
    .kind = FERRY_OP_REDUCE,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = plan,
    .run = reduce_run,
};
