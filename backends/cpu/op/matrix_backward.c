/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>

/*
 * INNER_PRODUCT backward, as BATCHED_GEMM: a batch is a part of a row of x whose elements have a
 * constant distance; parts with other distances are separate products, one after the other.
 */

/* A row of x: `repeats` times `batches` times `length` elements, and their distances. */
struct row {
    int64_t repeats, batches, length, far, near, step;
};

static bool find_row(const ferry_operand *x, struct row *out)
{
    struct cpu_walk w;

    walk_begin(&w, x->rank - 1, x->shape + 1);
    walk_add(&w, x->stride + 1);
    walk_end_as_given(&w);
    if (w.rank > 3)
        return false;
    *out = (struct row){ .repeats = w.rank > 2 ? w.shape[0] : 1,
                         .batches = w.rank > 1 ? w.shape[w.rank - 2] : 1,
                         .length = w.shape[w.rank - 1],
                         .far = w.rank > 2 ? w.stride[0][0] : 0,
                         .near = w.rank > 1 ? w.stride[0][w.rank - 2] : 0,
                         .step = walk_step(&w, 0) };
    return true;
}

static ferry_operand matrix(uint32_t dtype, const int64_t *shape, const int64_t *stride)
{
    ferry_operand o = { .dtype = dtype, .rank = 3 };

    for (int i = 0; i < 3; i++) {
        o.shape[i] = shape[i];
        o.stride[i] = shape[i] == 1 ? 0 : stride[i];
    }
    return o;
}

/* The columns of w, or of its gradient, for a batch; and those of x, or of its gradient. */
static ferry_operand columns_of_w(const ferry_operand *w, const struct row *r)
{
    return matrix(w->dtype, (int64_t[]){ r->batches, w->shape[0], r->length },
                  (int64_t[]){ r->length * w->stride[1], w->stride[0], w->stride[1] });
}

static ferry_operand columns_of_x(const ferry_operand *x, const struct row *r)
{
    return matrix(x->dtype, (int64_t[]){ r->batches, x->shape[0], r->length },
                  (int64_t[]){ r->near, x->stride[0], r->step });
}

static void keep_steps(struct cpu_op *p, const ferry_operand *w, const struct row *r)
{
    p->plan.matrix.repeats = r->repeats;
    p->plan.matrix.x_far = r->far;
    p->plan.matrix.w_far = r->batches * r->length * w->stride[1];
    if (r->repeats > 1)
        p->op.constants = 0;
}

/* Plans dx = dy · w. */
static int data_plan(struct cpu_op *p)
{
    const ferry_operand dy = p->op.in[0], w = p->op.in[1], dx = p->op.out[0];
    struct row row;

    if (!cpu_op_is_real(p) || !find_row(&dx, &row))
        return FERRY_EUNSUPPORTED;
    keep_steps(p, &w, &row);
    p->op.params.gemm.alpha = 1;
    p->op.in[0] = matrix(dy.dtype, (int64_t[]){ 1, dy.shape[0], dy.shape[1] },
                         (int64_t[]){ 0, dy.stride[0], dy.stride[1] });
    p->op.in[1] = columns_of_w(&w, &row);
    p->op.out[0] = columns_of_x(&dx, &row);
    return cpu_op_batched_gemm.plan(p);
}

/* Plans dw = dyᵀ · x + dw. */
static int weights_plan(struct cpu_op *p)
{
    const ferry_operand dy = p->op.in[0], x = p->op.in[1], dw = p->op.out[0];
    struct row row;

    if (!cpu_op_is_real(p) || !find_row(&x, &row))
        return FERRY_EUNSUPPORTED;
    keep_steps(p, &dw, &row);
    p->op.constants = 0;
    p->op.params.gemm.alpha = p->op.params.gemm.beta = 1;
    p->op.in[0] = matrix(dy.dtype, (int64_t[]){ 1, dy.shape[1], dy.shape[0] },
                         (int64_t[]){ 0, dy.stride[1], dy.stride[0] });
    p->op.in[1] = columns_of_x(&x, &row);
    p->op.out[0] = p->op.in[2] = columns_of_w(&dw, &row);
    p->op.n_in = p->own_in = 3;
    return cpu_op_batched_gemm.plan(p);
}

static const void *further(const struct cpu_op *p, const void *from, int64_t elements)
{
    return (const char *)from + elements * cpu_dtype_size(p->op.out[0].dtype);
}

static void data_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    for (int64_t i = 0; i < p->plan.matrix.repeats; i++) {
        struct cpu_op_args a = *args;

        a.in[1] = further(p, args->in[1], i * p->plan.matrix.w_far);
        a.out[0] = (void *)(uintptr_t)further(p, args->out[0], i * p->plan.matrix.x_far);
        cpu_op_batched_gemm.run(d, p, &a);
    }
}

static void weights_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    for (int64_t i = 0; i < p->plan.matrix.repeats; i++) {
        struct cpu_op_args a = *args;

        a.in[1] = further(p, args->in[1], i * p->plan.matrix.x_far);
        a.out[0] = (void *)(uintptr_t)further(p, args->out[0], i * p->plan.matrix.w_far);
        a.in[2] = a.out[0];
        cpu_op_batched_gemm.run(d, p, &a);
    }
}

static void data_prepare(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                         void *packed)
{
    cpu_op_batched_gemm.prepare(d, p, in, packed);
}

const struct cpu_op_kind cpu_op_inner_product_data = {
    .kind = FERRY_OP_INNER_PRODUCT,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = data_plan,
    .prepare = data_prepare,
    .run = data_run,
};

const struct cpu_op_kind cpu_op_inner_product_weights = {
    .kind = FERRY_OP_INNER_PRODUCT,
    .pass = FERRY_PASS_BACKWARD_WEIGHTS,
    .plan = weights_plan,
    .run = weights_run,
};
