/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <float.h>
#include <math.h>

/*
 * REDUCE and MOMENTS. The kept axes are the outer loops, the reduced axes the inner ones; sums are
 * accumulated in doubles. Up to BLOCK results are computed at once, so that rows of the kept axes
 * are read in memory order.
 */

#define BLOCK 64

struct reduction {
    const struct cpu_op *op;
    uint32_t function;
    double scale;
    const void *x;
    void *y, *variance;
    bool is_f32;
};

/* The state of a block of results; `seen` counts the elements reduced so far. */
struct block {
    const struct reduction *r;
    int64_t base, step; /* in x: the offset of the first result's elements, and the distance from
                         * one result to the next */
    int64_t results, seen;
    double value[BLOCK], center[BLOCK];
    int64_t index[BLOCK];
};

static double load(const struct reduction *r, int64_t at)
{
    return r->is_f32 ? (double)((const float *)r->x)[at] : ((const double *)r->x)[at];
}

#define SQUARED_DEVIATION 100u /* a function of MOMENTS only */

static void take(struct block *b, int64_t j, double x)
{
    switch (b->r->function) {
    case FERRY_REDUCE_SUM:
        b->value[j] += x;
        break;
    case FERRY_REDUCE_SUMSQ:
        b->value[j] += x * x;
        break;
    case FERRY_REDUCE_ASUM:
        b->value[j] += fabs(x);
        break;
    case SQUARED_DEVIATION:
        b->value[j] += (x - b->center[j]) * (x - b->center[j]);
        break;
    default:
        if (b->seen == 0 || x >= b->value[j] || x != x) {
            b->value[j] = x;
            b->index[j] = b->seen;
        }
    }
}

/* Adds rows of floats by vectors if their sums are contiguous. */
static bool add_rows(struct block *b, int64_t at, int64_t step, int64_t n)
{
    const float *x = (const float *)b->r->x + b->base + at;

    if (!b->r->is_f32 || b->r->function != FERRY_REDUCE_SUM || b->step != 1)
        return false;
    b->r->op->loops->sum_rows(x, n, step, b->results, b->value);
    b->seen += n;
    return true;
}

/* Accumulates a row of the reduced axes. */
static void take_row(void *arg, const int64_t *offset, int64_t n)
{
    struct block *b = arg;
    const struct cpu_walk *inner = &b->r->op->plan.reduce.inner;
    int64_t step = walk_step(inner, 0);

    if (add_rows(b, offset[0], step, n))
        return;
    for (int64_t i = 0; i < n; i++, b->seen++)
        for (int64_t j = 0; j < b->results; j++)
            take(b, j, load(b->r, b->base + offset[0] + i * step + j * b->step));
}

static void reduce_block(struct block *b, const struct reduction *r)
{
    const struct cpu_walk *inner = &r->op->plan.reduce.inner;

    b->r = r;
    b->seen = 0;
    for (int64_t j = 0; j < b->results; j++) {
        b->value[j] = 0;
        b->index[j] = 0;
    }
    walk_some(inner, 0, inner->count, take_row, b);
}

static void store(const struct reduction *r, void *y, int64_t at, double value)
{
    if (r->is_f32)
        ((float *)y)[at] = (float)value;
    else
        ((double *)y)[at] = value;
}

/* Computes a row of the kept axes. */
static void reduce_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct reduction *r = arg;
    const struct cpu_walk *outer = &r->op->plan.reduce.outer;
    int64_t y_step = walk_step(outer, 1);
    struct block b = { .step = walk_step(outer, 0) };

    for (int64_t first = 0; first < n; first += BLOCK) {
        b.results = n - first < BLOCK ? n - first : BLOCK;
        b.base = offset[0] + first * b.step;
        reduce_block(&b, r);
        for (int64_t j = 0; j < b.results; j++) {
            int64_t at = offset[1] + (first + j) * y_step;

            if (r->function == FERRY_REDUCE_ARGMAX && r->op->op.out[0].dtype == FERRY_I32)
                ((int32_t *)r->y)[at] = (int32_t)b.index[j];
            else if (r->function == FERRY_REDUCE_ARGMAX)
                store(r, r->y, at, (double)b.index[j]);
            else
                store(r, r->y, at, b.value[j] * r->scale);
        }
    }
}

/* The moments of the elements seen so far: their mean, and the sum of squared deviations. */
struct moments {
    const struct reduction *r;
    int64_t base, seen;
    double mean, square;
};

/*
 * Adds a contiguous row, while it is in a cache. Its differences are taken from about its mean: a
 * sum of large floats is rounded too much for the distance between the means of rows. Their sum is
 * the exact one's correction.
 */
static void join_row(void *arg, const int64_t *offset, int64_t n)
{
    struct moments *m = arg;
    const struct cpu_loops *loops = m->r->op->loops;
    const float *x = (const float *)m->r->x + m->base + offset[0];
    float center = (float)(loops->sum(x, n) / (double)n);
    double seen = (double)m->seen, all = seen + (double)n, sum, apart;

    m->square += loops->deviation(x, center, n, &sum);
    sum = isfinite(sum) ? sum : 0; /* the mean of infinite elements is the center */
    m->square -= sum * sum / (double)n;
    apart = (double)center + sum / (double)n - m->mean;
    m->square += apart * apart * seen * (double)n / all;
    m->mean += apart * (double)n / all;
    m->seen += n;
}

/* Computes a row of the kept axes if the elements of each are rows of contiguous floats. */
static void join_rows(void *arg, const int64_t *offset, int64_t n)
{
    const struct reduction *r = arg;
    const struct cpu_walk *outer = &r->op->plan.reduce.outer, *inner = &r->op->plan.reduce.inner;

    for (int64_t j = 0; j < n; j++) {
        struct moments m = { .r = r, .base = offset[0] + j * walk_step(outer, 0) };

        walk_some(inner, 0, inner->count, join_row, &m);
        store(r, r->y, offset[1] + j * walk_step(outer, 1), m.mean);
        store(r, r->variance, offset[2] + j * walk_step(outer, 2),
              m.square < 0 ? 0 : m.square / (double)m.seen);
    }
}

static void moments_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct reduction *r = arg;
    const struct cpu_walk *outer = &r->op->plan.reduce.outer;
    int64_t elements = r->op->plan.reduce.count;
    double count = elements > 0 ? (double)elements : 1; /* the mean of no elements is 0 */
    struct reduction pass = *r;
    struct block b = { .step = walk_step(outer, 0) };

    for (int64_t first = 0; first < n; first += BLOCK) {
        b.results = n - first < BLOCK ? n - first : BLOCK;
        b.base = offset[0] + first * b.step;
        pass.function = FERRY_REDUCE_SUM;
        reduce_block(&b, &pass);
        for (int64_t j = 0; j < b.results; j++) {
            b.center[j] = b.value[j] / count;
            store(r, r->y, offset[1] + (first + j) * walk_step(outer, 1), b.center[j]);
        }
        pass.function = SQUARED_DEVIATION;
        reduce_block(&b, &pass);
        for (int64_t j = 0; j < b.results; j++)
            store(r, r->variance, offset[2] + (first + j) * walk_step(outer, 2),
                  b.value[j] / count);
    }
}

/* ---- planning ------------------------------------------------------------------------------- */

/* Makes the walk over the kept axes, or over the reduced ones, of x and the outputs. */
static void walk_axes(const struct cpu_op *p, bool stay, struct cpu_walk *w)
{
    const ferry_operand *x = &p->op.in[0];
    uint32_t goes = p->op.params.reduce.axes, rank = 0;
    int64_t shape[FERRY_OP_AXES], stride[3][FERRY_OP_AXES];

    for (uint32_t i = 0; i < x->rank; i++) {
        if ((goes >> i & 1u) == (uint32_t)stay)
            continue;
        shape[rank] = x->shape[i];
        stride[0][rank] = x->stride[i];
        for (uint32_t k = 0; k < p->op.n_out && k < 2; k++)
            stride[1 + k][rank] = p->op.out[k].stride[i];
        rank++;
    }
    walk_begin(w, rank, shape);
    walk_add(w, stride[0]);
    for (uint32_t k = 0; stay && k < p->op.n_out && k < 2; k++)
        walk_add(w, stride[1 + k]);
    walk_end(w);
}

static void plan_axes(struct cpu_op *p)
{
    walk_axes(p, true, &p->plan.reduce.outer);
    walk_axes(p, false, &p->plan.reduce.inner);
    p->plan.reduce.count = p->plan.reduce.inner.count;
}

static int reduce_plan(struct cpu_op *p)
{
    uint32_t function = p->op.params.reduce.function, y = p->op.out[0].dtype;

    if (function > FERRY_REDUCE_ARGMAX)
        return FERRY_EUNSUPPORTED;
    if (function == FERRY_REDUCE_ARGMAX && y == FERRY_I32 ? !cpu_op_is_all(p, FERRY_F32, 1, 0)
                                                          : !cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    plan_axes(p);
    return 0;
}

static void run_rows(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args,
                     walk_body body)
{
    int64_t size = cpu_dtype_size(p->op.in[0].dtype);
    struct reduction r = { .op = p,
                           .function = p->op.params.reduce.function,
                           .scale = p->op.params.reduce.scale,
                           .x = args->in[0],
                           .y = args->out[0],
                           .variance = args->out[1],
                           .is_f32 = size == 4 };

    walk_all(&p->plan.reduce.outer, d->workers, size * (p->plan.reduce.count + 1), body, &r);
}

static void reduce_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    run_rows(d, p, args, reduce_row);
}

const struct cpu_op_kind cpu_op_reduce = {
    .kind = FERRY_OP_REDUCE,
    .plan = reduce_plan,
    .run = reduce_run,
};

static int moments_plan(struct cpu_op *p)
{
    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    plan_axes(p);
    return 0;
}

static void moments_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    const struct cpu_walk *inner = &p->plan.reduce.inner;
    bool is_close = p->op.in[0].dtype == FERRY_F32 && walk_step(inner, 0) == 1;

    run_rows(d, p, args, is_close && inner->count > 0 ? join_rows : moments_row);
}

const struct cpu_op_kind cpu_op_moments = {
    .kind = FERRY_OP_MOMENTS,
    .plan = moments_plan,
    .run = moments_run,
};
