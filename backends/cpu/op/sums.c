/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

/*
 * Gradients that are sums: the bias of CONVOLUTION and INNER_PRODUCT, u and v of BINARY. The kept
 * axes are the outer loops, the broadcast axes the inner ones, and each sum is added to the
 * previous gradient.
 */

struct sums {
    const struct cpu_op *op;
    uint32_t share; /* the function of BINARY that determines the term of an element; BINARY_SUM:
                     * the term is dy */
    double scale;
    const void *dy, *x, *u;
    void *out;
    bool is_f32;
};

/* One sum: the beginning of its operands, and its value. */
struct sum {
    const struct sums *s;
    int64_t dy, x;
    double u, value;
};

#define IMPL "sums_impl.h"
#include "reals_impl.h"

#include <ferry/op_types.h>

/* ---- contiguous rows ------------------------------------------------------------------------ */

static void sum_vectors(void *arg, const int64_t *offset, int64_t n)
{
    struct sum *m = arg;

    m->value += m->s->op->loops->sum((const float *)m->s->dy + m->dy + offset[0], n);
}

static void dot_vectors(void *arg, const int64_t *offset, int64_t n)
{
    struct sum *m = arg;

    m->value += m->s->op->loops->dot((const float *)m->s->dy + m->dy + offset[0],
                                     (const float *)m->s->x + m->x + offset[1], n);
}

static walk_body body_of(const struct sums *s)
{
    const struct cpu_walk *inner = &s->op->plan.reduce.inner;
    bool is_close = walk_step(inner, 0) == 1;

    if (!s->is_f32)
        return sum_row_f64;
    if (is_close && s->share == FERRY_BINARY_SUM)
        return sum_vectors;
    if (is_close && s->share == FERRY_BINARY_PRODUCT && walk_step(inner, 1) == 1)
        return dot_vectors;
    return sum_row_f32;
}

/* Computes a row of the kept axes. */
static void add_sums(void *arg, const int64_t *offset, int64_t n)
{
    const struct sums *s = arg;
    const struct cpu_walk *outer = &s->op->plan.reduce.outer, *inner = &s->op->plan.reduce.inner;
    walk_body body = body_of(s);

    for (int64_t i = 0; i < n; i++) {
        int64_t at = offset[1] + i * walk_step(outer, 1), u = offset[3] + i * walk_step(outer, 3);
        struct sum m = { .s = s,
                         .dy = offset[0] + i * walk_step(outer, 0),
                         .x = offset[2] + i * walk_step(outer, 2) };

        if (s->u)
            m.u = s->is_f32 ? (double)((const float *)s->u)[u] : ((const double *)s->u)[u];
        walk_some(inner, 0, inner->count, body, &m);
        if (s->is_f32)
            ((float *)s->out)[at] += (float)(m.value * s->scale);
        else
            ((double *)s->out)[at] += m.value * s->scale;
    }
}

/* ---- planning ------------------------------------------------------------------------------- */

/*
 * Makes the walk over the kept axes of dy, or over the broadcast ones; x may be broadcast.
 * Operands: dy, out, x, u; or dy, x.
 */
static void walk_axes(const struct cpu_op *p, uint32_t stays, bool stay, struct cpu_walk *w)
{
    const ferry_operand *dy = &p->op.in[0], *x = &p->op.in[1], *out = &p->op.out[0];
    int64_t shape[FERRY_OP_AXES], stride[4][FERRY_OP_AXES] = { { 0 } };
    uint32_t rank = 0;

    for (uint32_t i = 0; i < dy->rank; i++) {
        uint32_t axis = out->rank == dy->rank ? i : 0; /* a bias has a single axis */

        if ((stays >> i & 1u) != (uint32_t)stay)
            continue;
        shape[rank] = dy->shape[i];
        stride[0][rank] = dy->stride[i];
        stride[1][rank] = out->stride[axis];
        stride[2][rank] = p->op.n_in > 1 && x->shape[i] > 1 ? x->stride[i] : 0;
        stride[3][rank] = p->op.n_in > 2 ? p->op.in[2].stride[i] : 0;
        rank++;
    }
    walk_begin(w, rank, shape);
    walk_add(w, stride[0]);
    if (stay)
        walk_add(w, stride[1]);
    walk_add(w, stride[2]);
    if (stay)
        walk_add(w, stride[3]);
    walk_end(w);
}

static int plan(struct cpu_op *p, uint32_t stays)
{
    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    walk_axes(p, stays, true, &p->plan.reduce.outer);
    walk_axes(p, stays, false, &p->plan.reduce.inner);
    return 0;
}

static int bias_plan(struct cpu_op *p)
{
    return plan(p, 2);
}

static int binary_plan(struct cpu_op *p)
{
    const ferry_operand *dy = &p->op.in[0], *out = &p->op.out[0];
    uint32_t stays = 0;

    for (uint32_t i = 0; i < dy->rank; i++)
        stays |= (uint32_t)(out->shape[i] == dy->shape[i]) << i;
    return plan(p, stays);
}

static void run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args,
                uint32_t share, double scale)
{
    int64_t size = cpu_dtype_size(p->op.out[0].dtype);
    struct sums s = { .op = p,
                      .share = share,
                      .scale = scale,
                      .dy = args->in[0],
                      .x = p->op.n_in > 1 ? args->in[1] : NULL,
                      .u = p->op.n_in > 2 ? args->in[2] : NULL,
                      .out = args->out[0],
                      .is_f32 = size == 4 };

    walk_all(&p->plan.reduce.outer, d->workers, size * (p->plan.reduce.inner.count + 1), add_sums,
             &s);
}

static void bias_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    run(d, p, args, FERRY_BINARY_SUM, 1);
}

static void binary_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    uint32_t function = p->op.params.binary.function;

    if (p->op.n_in < 2)
        run(d, p, args, FERRY_BINARY_SUM, function == FERRY_BINARY_SUM ? p->op.params.binary.b : 1);
    else
        run(d, p, args, function == FERRY_BINARY_SCALE ? FERRY_BINARY_PRODUCT : function, 1);
}

const struct cpu_op_kind cpu_op_convolution_bias = {
    .kind = FERRY_OP_CONVOLUTION,
    .pass = FERRY_PASS_BACKWARD_BIAS,
    .plan = bias_plan,
    .run = bias_run,
};

const struct cpu_op_kind cpu_op_inner_product_bias = {
    .kind = FERRY_OP_INNER_PRODUCT,
    .pass = FERRY_PASS_BACKWARD_BIAS,
    .plan = bias_plan,
    .run = bias_run,
};

const struct cpu_op_kind cpu_op_binary_weights = {
    .kind = FERRY_OP_BINARY,
    .pass = FERRY_PASS_BACKWARD_WEIGHTS,
    .plan = binary_plan,
    .run = binary_run,
};

const struct cpu_op_kind cpu_op_binary_bias = {
    .kind = FERRY_OP_BINARY,
    .pass = FERRY_PASS_BACKWARD_BIAS,
    .plan = binary_plan,
    .run = binary_run,
};
