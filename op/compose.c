/* SPDX-License-Identifier: BSD-2-Clause */
/* Composition: operations made of other operations that the target supports. */
#include "op/compose.h"

#include "op/kind.h"

#include <ferry/blob.h>

#include <string.h>

ferry_operand ferry__operand3(uint32_t dtype, const int64_t shape[3], const int64_t stride[3])
{
    ferry_operand o;
    int i;

    memset(&o, 0, sizeof o);
    o.dtype = dtype;
    o.rank = 3;
    for (i = 0; i < 3; i++) {
        o.shape[i] = shape[i];
        o.stride[i] = stride[i] ? stride[i] : 1;
    }
    return o;
}

int64_t ferry__operand_collapse(const ferry_operand *o, uint32_t first, uint32_t end)
{
    int64_t inner = 0,
            next = 0; /* the stride of the innermost axis; the position of the next outer one */
    uint32_t i;

    for (i = end; i-- > first;) {
        if (o->shape[i] == 1)
            continue;
        if (!inner)
            inner = o->stride[i];
        else if (o->stride[i] != next)
            return -1;
        next = o->stride[i] * o->shape[i];
    }
    return inner ? inner : 1;
}

ferry_operand ferry__operand_per_channel(const ferry_operand *vector, uint32_t rank)
{
    ferry_operand o;
    uint32_t i;

    memset(&o, 0, sizeof o);
    o.dtype = vector->dtype;
    o.rank = rank;
    for (i = 0; i < rank; i++)
        o.shape[i] = o.stride[i] = 1;
    o.shape[1] = vector->shape[0];
    o.stride[1] = vector->stride[0] ? vector->stride[0] : 1;
    return o;
}

/* y = x·wᵀ, then the bias as an epilogue step. */
static int inner_product(struct ferry__plan *plan, const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0], *w = &op->in[1], *y = &op->out[0];
    int64_t k = w->shape[1], along = ferry__operand_collapse(x, 1, x->rank);
    struct ferry__binding in[2] = { ferry__bind(FERRY__FROM_IN, 0),
                                    ferry__bind(FERRY__FROM_IN, 1) };
    struct ferry__binding out = ferry__bind(FERRY__FROM_OUT, 0);
    ferry_op_desc gemm;

    if (along < 0)
        return 0;
    ferry_op_desc_init(&gemm, FERRY_OP_BATCHED_GEMM);
    gemm.n_in = 2;
    gemm.n_out = 1;
    gemm.constants = op->constants & 3;
    gemm.math = op->math;
    gemm.in[0] = ferry__operand3(x->dtype, (int64_t[]){ 1, x->shape[0], k },
                                 (int64_t[]){ 1, x->stride[0], along });
    gemm.in[1] = ferry__operand3(w->dtype, (int64_t[]){ 1, k, w->shape[0] },
                                 (int64_t[]){ 1, w->stride[1], w->stride[0] });
    gemm.out[0] = ferry__operand3(y->dtype, (int64_t[]){ 1, y->shape[0], y->shape[1] },
                                  (int64_t[]){ 1, y->stride[0], y->stride[1] });
    return ferry__plan_add(plan, &gemm, in, &out);
}

int ferry__compose_reduce(struct ferry__plan *plan, const ferry_operand *x,
                          struct ferry__binding from, uint32_t function, uint32_t axes,
                          double scale, struct ferry__binding to, ferry_operand *out)
{
    ferry_op_desc op;
    uint32_t i;
    int64_t shape[FERRY_OP_AXES] = { 0 };

    for (i = 0; i < x->rank; i++)
        shape[i] = axes >> i & 1 ? 1 : x->shape[i];
    *out = ferry_operand_make((ferry_dtype)x->dtype, shape, (int)x->rank, NULL);
    ferry_op_desc_init(&op, FERRY_OP_REDUCE);
    op.n_in = op.n_out = 1;
    op.in[0] = *x;
    op.out[0] = *out;
    op.params.reduce.function = function;
    op.params.reduce.axes = axes;
    op.params.reduce.scale = scale;
    return ferry__plan_add(plan, &op, &from, &to);
}

int ferry__compose_binary(struct ferry__plan *plan, uint32_t function, double b,
                          const ferry_operand *x, struct ferry__binding from,
                          const ferry_operand *u, struct ferry__binding with,
                          const ferry_operand *y, struct ferry__binding to)
{
    struct ferry__binding in[2] = { from, with };
    ferry_op_desc op;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = *x;
    op.in[1] = *u;
    op.out[0] = *y;
    op.params.binary.function = function;
    op.params.binary.a = 1;
    op.params.binary.b = b;
    return ferry__plan_add(plan, &op, in, &to);
}

uint64_t ferry__compose_bytes(const ferry_operand *o)
{
    uint64_t bytes = (uint64_t)ferry__operand_count(o) * ferry_dtype_size((ferry_dtype)o->dtype);

    return (bytes + 63) & ~UINT64_C(63);
}

/* y = x − max; y = exp(y); y = y / Σ y, with max and Σ in one temporary. */
static int softmax(struct ferry__plan *plan, const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0], *y = &op->out[0];
    struct ferry__binding from = ferry__bind(FERRY__FROM_IN, 0),
                          to = ferry__bind(FERRY__FROM_OUT, 0);
    struct ferry__binding temp = ferry__bind(FERRY__FROM_TEMP, 0);
    uint32_t axes = 1u << op->params.softmax.axis;
    ferry_operand reduced;
    ferry_op_desc exponent;
    int can;

    if (op->params.softmax.logarithm)
        return 0;
    can = ferry__compose_reduce(plan, x, from, FERRY_REDUCE_MAX, axes, 1, temp, &reduced);
    if (can > 0)
        can = ferry__compose_binary(plan, FERRY_BINARY_SUM, -1, x, from, &reduced, temp, y, to);
    ferry_op_desc_init(&exponent, FERRY_OP_UNARY);
    exponent.n_in = exponent.n_out = 1;
    exponent.in[0] = exponent.out[0] = *y;
    exponent.params.unary.function = FERRY_UNARY_EXP;
    exponent.params.unary.a = 1;
    if (can > 0)
        can = ferry__plan_add(plan, &exponent, &to, &to);
    if (can > 0)
        can = ferry__compose_reduce(plan, y, to, FERRY_REDUCE_SUM, axes, 1, temp, &reduced);
    if (can > 0)
        can = ferry__compose_binary(plan, FERRY_BINARY_QUOTIENT, 1, y, to, &reduced, temp, y, to);
    plan->temporary_bytes = ferry__compose_bytes(&reduced);
    return can;
}

/* Computes the mean, x − mean in temporary memory, and the mean of its squares. */
static int moments(struct ferry__plan *plan, const ferry_op_desc *op)
{
    const ferry_operand *x = &op->in[0];
    struct ferry__binding from = ferry__bind(FERRY__FROM_IN, 0),
                          temp = ferry__bind(FERRY__FROM_TEMP, 0);
    uint32_t axes = op->params.reduce.axes;
    int64_t n = ferry__operand_count(x), kept = ferry__operand_count(&op->out[0]);
    double scale = n && kept ? 1.0 / (double)(n / kept) : 1;
    ferry_operand centred = ferry_operand_make((ferry_dtype)x->dtype, x->shape, (int)x->rank, NULL);
    ferry_operand reduced;
    int can;

    if (ferry__compose_bytes(&centred) > plan->target.temporary ||
        !ferry_operand_is_plain(&op->out[0]) || !ferry_operand_is_plain(&op->out[1]))
        return 0;
    can = ferry__compose_reduce(plan, x, from, FERRY_REDUCE_SUM, axes, scale,
                                ferry__bind(FERRY__FROM_OUT, 0), &reduced);
    if (can > 0)
        can = ferry__compose_binary(plan, FERRY_BINARY_SUM, -1, x, from, &reduced,
                                    ferry__bind(FERRY__FROM_OUT, 0), &centred, temp);
    if (can > 0)
        can = ferry__compose_reduce(plan, &centred, temp, FERRY_REDUCE_SUMSQ, axes, scale,
                                    ferry__bind(FERRY__FROM_OUT, 1), &reduced);
    plan->temporary_bytes = ferry__compose_bytes(&centred);
    return can;
}

int ferry__compose(struct ferry__plan *plan, const ferry_op_desc *op)
{
    int can = 0;

    plan->temporary_bytes = 0;
    plan->repeat = 1;
    if (op->pass != FERRY_PASS_FORWARD)
        return ferry__compose_backward(plan, op);
    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
        can = ferry__compose_convolution(plan, op);
        break;
    case FERRY_OP_INNER_PRODUCT:
        can = inner_product(plan, op);
        break;
    case FERRY_OP_SOFTMAX:
        can = softmax(plan, op);
        break;
    case FERRY_OP_MOMENTS:
        can = moments(plan, op);
        break;
    default:
        break;
    }
    plan->repeated = plan->n_steps;
    if (can > 0 && ferry_op_own_inputs(op) > 2 &&
        (op->kind == FERRY_OP_CONVOLUTION || op->kind == FERRY_OP_INNER_PRODUCT)) {
        ferry_operand bias = ferry__operand_per_channel(&op->in[2], op->out[0].rank);
        struct ferry__binding y = ferry__bind(FERRY__FROM_OUT, 0);

        can = ferry__compose_binary(plan, FERRY_BINARY_SUM, 1, &op->out[0], y, &bias,
                                    ferry__bind(FERRY__FROM_IN, 2), &op->out[0], y);
    }
    if (can <= 0) {
        plan->temporary_bytes = 0;
        plan->repeat = 1;
    }
    return can;
}

/* Adds an epilogue step as an in-place operation on y. */
static int epilogue_step(struct ferry__plan *plan, const ferry_op_desc *op,
                         const ferry_op_step *step)
{
    const ferry_operand *y = &op->out[0];
    struct ferry__binding at = ferry__bind(FERRY__FROM_OUT, 0);
    struct ferry__binding with = ferry__bind(FERRY__FROM_IN, step->operand);
    ferry_operand u;
    ferry_op_desc unary;

    if (step->step == FERRY_STEP_UNARY) {
        ferry_op_desc_init(&unary, FERRY_OP_UNARY);
        unary.n_in = unary.n_out = 1;
        unary.in[0] = unary.out[0] = *y;
        unary.params.unary.function = step->function;
        unary.params.unary.a = step->a;
        unary.params.unary.b = step->b;
        unary.params.unary.c = step->c;
        return ferry__plan_add(plan, &unary, &at, &at);
    }
    if (step->step == FERRY_STEP_ADD)
        return ferry__compose_binary(plan, FERRY_BINARY_SUM, 1, y, at, &op->in[step->operand], with,
                                     y, at);
    u = ferry__operand_per_channel(&op->in[step->operand], y->rank);
    return ferry__compose_binary(plan,
                                 step->step == FERRY_STEP_SCALE   ? FERRY_BINARY_PRODUCT
                                 : step->step == FERRY_STEP_SHIFT ? FERRY_BINARY_SUM
                                                                  : FERRY_BINARY_PRELU,
                                 1, y, at, &u, with, y, at);
}

int ferry__compose_epilogue(struct ferry__plan *plan, const ferry_op_desc *op, uint32_t first)
{
    uint32_t i;

    for (i = first; i < op->n_epilogue; i++) {
        int can = epilogue_step(plan, op, &op->epilogue[i]);

        if (can <= 0)
            return can;
    }
    return 1;
}
