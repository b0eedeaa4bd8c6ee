/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <math.h>

/* SOFTMAX: lines along one axis, which a walk over the other axes finds. */

struct softmax {
    const void *x;
    void *y;
    int64_t length, x_step, y_step; /* the length of a line and its strides */
    int64_t x_next, y_next;         /* the distance from a line to the next */
    bool logarithm;
    const struct cpu_loops *loops;
};

/*
 * The number of floats of lines whose exponentials are computed by one call; longer lines are
 * processed one by one.
 */
#define NEAR 1024

#define IMPL "softmax_impl.h"
#include "reals_impl.h"

/* ---- short lines of floats ------------------------------------------------------------------- */

/* Subtracts the largest element of a line from the line. */
static void shift_line(const struct softmax *s, const float *x, float *to)
{
    float most = x[0];

    for (int64_t i = 1; i < s->length; i++)
        most = x[i * s->x_step] > most ? x[i * s->x_step] : most;
    for (int64_t i = 0; i < s->length; i++)
        to[i] = x[i * s->x_step] - most;
}

static void divide_line(const struct softmax *s, const float *raised, float *y)
{
    double sum = 0;

    for (int64_t i = 0; i < s->length; i++)
        sum += (double)raised[i];
    for (int64_t i = 0; i < s->length; i++)
        y[i * s->y_step] = (float)((double)raised[i] / sum);
}

/*
 * Processes as many lines at a time as the buffer holds, so that exponentials are computed by
 * vectors.
 */
static void softmax_block(void *arg, const int64_t *offset, int64_t n)
{
    const struct softmax *s = arg;
    const float *x = (const float *)s->x + offset[1];
    float *y = (float *)s->y + offset[0], raised[NEAR];
    int64_t most = NEAR / s->length;

    for (int64_t some; n > 0; n -= some) {
        some = n < most ? n : most;
        for (int64_t i = 0; i < some; i++, x += s->x_next)
            shift_line(s, x, raised + i * s->length);
        s->loops->unary(FERRY_UNARY_EXP, 1, 0, 0, some * s->length, raised, raised);
        for (int64_t i = 0; i < some; i++, y += s->y_next)
            divide_line(s, raised + i * s->length, y);
    }
}

/* Lines of two elements, as of detectors that tell faces from the background. */
static void softmax_pairs(void *arg, const int64_t *offset, int64_t n)
{
    const struct softmax *s = arg;

    s->loops->softmax_pairs(2 * n, (const float *)s->x + offset[1], (float *)s->y + offset[0]);
}

static bool is_pairs(const struct softmax *s)
{
    return s->length == 2 && s->x_step == 1 && s->y_step == 1 && s->x_next == 2 && s->y_next == 2;
}

static walk_body body_of(const struct cpu_op *p, const struct softmax *s)
{
    if (p->op.out[0].dtype != FERRY_F32)
        return softmax_row_f64;
    if (!s->logarithm && is_pairs(s))
        return softmax_pairs;
    return s->logarithm || s->length > NEAR ? softmax_row_f32 : softmax_block;
}

/* ---- the kind ------------------------------------------------------------------------------- */

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
    struct softmax s = { .x = args->in[0],
                         .y = args->out[0],
                         .length = p->op.in[0].shape[axis],
                         .x_step = p->op.in[0].stride[axis],
                         .y_step = p->op.out[0].stride[axis],
                         .x_next = walk_step(&p->plan.walk, 1),
                         .y_next = walk_step(&p->plan.walk, 0),
                         .logarithm = p->op.params.softmax.logarithm != 0,
                         .loops = p->loops };

    walk_all(&p->plan.walk, d->workers, 16 * s.length, body_of(p, &s), &s);
}

const struct cpu_op_kind cpu_op_softmax = {
    .kind = FERRY_OP_SOFTMAX,
    .plan = softmax_plan,
    .run = softmax_run,
};
