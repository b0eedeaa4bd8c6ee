/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <math.h>

/* The data passes of MOMENTS and SOFTMAX: two sums over the reduced axes, then each element. */

struct normal {
    const struct cpu_op *op;
    const void *dy, *y, *scale;
    void *dx;
};

/* The elements that belong to one result: their beginning, and the means. */
struct part {
    const struct normal *n;
    int64_t dy, dx, y;
    double sum, product, scale;
};

#define IMPL "normalise_backward_impl.h"
#include "reals_impl.h"

/* ---- moments -------------------------------------------------------------------------------- */

/* Sums contiguous rows. */
static void sum_vectors(void *arg, const int64_t *offset, int64_t n)
{
    struct part *part = arg;
    const struct cpu_loops *loops = part->n->op->loops;
    const float *dy = (const float *)part->n->dy + part->dy + offset[0];

    part->sum += loops->sum(dy, n);
    if (part->n->y)
        part->product += loops->dot(dy, (const float *)part->n->y + part->y + offset[2], n);
}

/* Computes contiguous rows. */
static void center_vectors(void *arg, const int64_t *offset, int64_t n)
{
    const struct part *part = arg;
    const float *dy = (const float *)part->n->dy + part->dy + offset[0];
    const float *y = part->n->y ? (const float *)part->n->y + part->y + offset[2] : dy;

    part->n->op->loops->center(dy, y, (float)part->sum, (float)part->product, (float)part->scale, n,
                               (float *)part->n->dx + part->dx + offset[1]);
}

static void moments_part(const struct normal *n, struct part *part)
{
    const struct cpu_walk *inner = &n->op->plan.reduce.inner;
    bool is_f32 = n->op->op.out[0].dtype == FERRY_F32;
    walk_body body = is_f32 ? sum_row_f32 : sum_row_f64;
    walk_body center = is_f32 ? center_row_f32 : center_row_f64;

    if (is_f32 && walk_step(inner, 0) == 1 && (!n->y || walk_step(inner, 2) == 1))
        body = sum_vectors;
    if (body == sum_vectors && walk_step(inner, 1) == 1)
        center = center_vectors;
    walk_some(inner, 0, inner->count, body, part);
    part->sum /= (double)inner->count;
    part->product /= (double)inner->count;
    walk_some(inner, 0, inner->count, center, part);
}

/* Computes a row of the kept axes. */
static void moments_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct normal *m = arg;
    const struct cpu_walk *outer = &m->op->plan.reduce.outer;

    for (int64_t i = 0; i < n; i++) {
        int64_t scale = offset[3] + i * walk_step(outer, 3);
        struct part part = { .n = m,
                             .dy = offset[0] + i * walk_step(outer, 0),
                             .dx = offset[1] + i * walk_step(outer, 1),
                             .y = offset[2] + i * walk_step(outer, 2),
                             .scale = 1 };

        if (m->scale)
            part.scale = m->op->op.out[0].dtype == FERRY_F32
                             ? (double)((const float *)m->scale)[scale]
                             : ((const double *)m->scale)[scale];
        moments_part(m, &part);
    }
}

/* Walks over the kept axes, or over the reduced ones: dy, dx, y and the scale. */
static void walk_axes(const struct cpu_op *p, bool stay, struct cpu_walk *w)
{
    const ferry_operand *operands[] = { &p->op.in[0], &p->op.out[0], &p->op.in[1], &p->op.in[2] };
    int64_t shape[FERRY_OP_AXES], stride[4][FERRY_OP_AXES];
    uint32_t rank = 0;

    for (uint32_t i = 0; i < operands[0]->rank; i++) {
        if ((p->op.params.reduce.axes >> i & 1u) == (uint32_t)stay)
            continue;
        shape[rank] = operands[0]->shape[i];
        for (int k = 0; k < 4; k++)
            stride[k][rank] = operands[k]->stride[i];
        rank++;
    }
    walk_begin(w, rank, shape);
    for (int k = 0; k < 4; k++)
        walk_add(w, stride[k]);
    walk_end(w);
}

static int moments_plan(struct cpu_op *p)
{
    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    walk_axes(p, true, &p->plan.reduce.outer);
    walk_axes(p, false, &p->plan.reduce.inner);
    return 0;
}

static void moments_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    bool is_whole = p->op.n_in > 2;
    struct normal n = { .op = p,
                        .dy = args->in[0],
                        .y = is_whole ? args->in[1] : NULL,
                        .scale = is_whole ? args->in[2] : NULL,
                        .dx = args->out[0] };

    walk_all(&p->plan.reduce.outer, d->workers, 16 * (p->plan.reduce.inner.count + 1), moments_row,
             &n);
}

const struct cpu_op_kind cpu_op_moments_data = {
    .kind = FERRY_OP_MOMENTS,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = moments_plan,
    .run = moments_run,
};

/* ---- softmax -------------------------------------------------------------------------------- */

static int softmax_plan(struct cpu_op *p)
{
    const ferry_operand *dy = &p->op.in[0];
    int64_t shape[FERRY_OP_AXES];

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    for (uint32_t i = 0; i < dy->rank; i++)
        shape[i] = i == p->op.params.softmax.axis ? 1 : dy->shape[i];
    walk_begin(&p->plan.walk, dy->rank, shape);
    walk_add(&p->plan.walk, p->op.out[0].stride);
    walk_add(&p->plan.walk, dy->stride);
    walk_add(&p->plan.walk, p->op.in[1].stride);
    walk_end(&p->plan.walk);
    return 0;
}

static void softmax_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    struct normal n = { .op = p, .dy = args->in[0], .y = args->in[1], .dx = args->out[0] };

    walk_all(&p->plan.walk, d->workers, 16 * p->op.in[0].shape[p->op.params.softmax.axis],
             p->op.out[0].dtype == FERRY_F32 ? softmax_row_f32 : softmax_row_f64, &n);
}

const struct cpu_op_kind cpu_op_softmax_data = {
    .kind = FERRY_OP_SOFTMAX,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = softmax_plan,
    .run = softmax_run,
};
