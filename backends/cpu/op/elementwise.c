/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <math.h>

/* UNARY and BINARY: a walk over y, rows by the instruction set's loops where they are contiguous. */

struct unary {
    uint32_t function;
    double a, b, c;
    int64_t step[2]; /* y, x */
    const void *x;
    void *y;
    const struct cpu_loops *loops;
};

struct binary {
    uint32_t function;
    double a, b;
    double v;        /* in place of in[2] where there is none */
    int64_t step[4]; /* y, x, u, v */
    const void *in[3];
    void *y;
    const struct cpu_loops *loops;
};

#define T          float
#define NAME(name) name##_f32
#define MATH(name) name##f
#include "elementwise_impl.h"
#undef T
#undef NAME
#undef MATH
#define T          double
#define NAME(name) name##_f64
#define MATH(name) name
#include "elementwise_impl.h"

void cpu_unary_row(uint32_t function, double a, double b, double c, int64_t n, const float *x,
                   float *y)
{
    const int64_t at[2] = { 0, 0 };
    struct unary u = {
        .function = function, .a = a, .b = b, .c = c, .step = { 1, 1 }, .x = x, .y = y
    };

    unary_row_f32(&u, at, n);
}

/* ---- unary ---------------------------------------------------------------------------------- */

static int unary_plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.walk;

    if (!cpu_op_is_real(p) || p->op.params.unary.function > FERRY_UNARY_SWISH)
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    walk_add(w, p->op.in[0].stride);
    walk_end(w);
    return 0;
}

static void unary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_walk *w = &p->plan.walk;
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    struct unary u = { .function = p->op.params.unary.function,
                       .a = p->op.params.unary.a,
                       .b = p->op.params.unary.b,
                       .c = p->op.params.unary.c,
                       .step = { walk_step(w, 0), walk_step(w, 1) },
                       .x = args->in[0],
                       .y = args->out[0],
                       .loops = p->loops };

    walk_all(w, d->workers, is_f32 ? 8 : 16, is_f32 ? unary_row_f32 : unary_row_f64, &u);
}

const struct cpu_op_kind cpu_op_unary = {
    .kind = FERRY_OP_UNARY,
    .plan = unary_plan,
    .run = unary_run,
};

/* ---- binary --------------------------------------------------------------------------------- */

/* The strides of an input that is repeated along the axes where it is 1. */
static void add_repeated(struct cpu_walk *w, const ferry_operand *o, uint32_t rank)
{
    int64_t stride[FERRY_OP_AXES];

    for (uint32_t i = 0; i < rank; i++)
        stride[i] = o->shape[i] == 1 ? 0 : o->stride[i];
    walk_add(w, stride);
}

static int binary_plan(struct cpu_op *p)
{
    struct cpu_walk *w = &p->plan.walk;

    if (!cpu_op_is_real(p) || p->op.params.binary.function > FERRY_BINARY_QUOTIENT ||
        (p->op.params.binary.function == FERRY_BINARY_NORMALISE && p->own_in < 3))
        return FERRY_EUNSUPPORTED;
    walk_begin(w, p->op.out[0].rank, p->op.out[0].shape);
    walk_add(w, p->op.out[0].stride);
    for (uint32_t i = 0; i < p->own_in && i < 3; i++)
        add_repeated(w, &p->op.in[i], p->op.out[0].rank);
    walk_end(w);
    return 0;
}

static void binary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_walk *w = &p->plan.walk;
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    struct binary f = { .function = p->op.params.binary.function,
                        .a = p->op.params.binary.a,
                        .b = p->op.params.binary.b,
                        .in = { args->in[0], args->in[1], p->own_in > 2 ? args->in[2] : NULL },
                        .y = args->out[0],
                        .loops = p->loops };

    for (uint32_t i = 0; i < w->operands; i++)
        f.step[i] = walk_step(w, i);
    walk_all(w, d->workers, is_f32 ? 12 : 24, is_f32 ? binary_row_f32 : binary_row_f64, &f);
}

const struct cpu_op_kind cpu_op_binary = {
    .kind = FERRY_OP_BINARY,
    .plan = binary_plan,
    .run = binary_run,
};
