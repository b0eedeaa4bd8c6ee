/* SPDX-License-Identifier: BSD-2-Clause */
/* Backward passes composed of other operations that the target supports. */
#include "op/compose.h"

/* Composes the gradient of x, which is the convolution with `transposed` inverted. */
static int convolution_data(struct ferry__plan *plan, const ferry_op_desc *op)
{
    ferry_op_desc turned = *op;

    turned.pass = FERRY_PASS_FORWARD;
    turned.params.window.transposed = !op->params.window.transposed;
    return ferry__compose_convolution(plan, &turned);
}

/* A matrix as a batch of one. */
static ferry_operand matrix(const ferry_operand *o, int64_t rows, int64_t columns, int64_t row,
                            int64_t column)
{
    return ferry__operand3(o->dtype, (int64_t[]){ 1, rows, columns },
                           (int64_t[]){ 1, row, column });
}

/* dx = dy·w, or dw += dyᵀ·x. */
static int inner_product(struct ferry__plan *plan, const ferry_op_desc *op)
{
    bool data = op->pass == FERRY_PASS_BACKWARD_DATA;
    const ferry_operand *dy = &op->in[0], *x = data ? &op->out[0] : &op->in[1];
    const ferry_operand *w = data ? &op->in[1] : &op->out[0];
    int64_t m = dy->shape[0], n = dy->shape[1], k = w->shape[1];
    int64_t along = ferry__operand_collapse(x, 1, x->rank);
    struct ferry__binding in[3] = { ferry__bind(FERRY__FROM_IN, 0), ferry__bind(FERRY__FROM_IN, 1),
                                    ferry__bind(FERRY__FROM_OUT, 0) };
    struct ferry__binding out = ferry__bind(FERRY__FROM_OUT, 0);
    ferry_op_desc gemm;

    if (along < 0)
        return 0;
    ferry_op_desc_init(&gemm, FERRY_OP_BATCHED_GEMM);
    gemm.n_in = data ? 2 : 3;
    gemm.n_out = 1;
    gemm.math = op->math;
    gemm.constants = data ? op->constants & 3 : 0;
    gemm.params.gemm.beta = data ? 0 : 1;
    gemm.in[0] = data ? matrix(dy, m, n, dy->stride[0], dy->stride[1])
                      : matrix(dy, n, m, dy->stride[1], dy->stride[0]);
    gemm.in[1] =
        data ? matrix(w, n, k, w->stride[0], w->stride[1]) : matrix(x, m, k, x->stride[0], along);
    gemm.out[0] =
        data ? matrix(x, m, k, x->stride[0], along) : matrix(w, n, k, w->stride[0], w->stride[1]);
    gemm.in[2] = gemm.out[0];
    return ferry__plan_add(plan, &gemm, in, &out);
}

/* Reduces the channels into temporary memory, and adds the result to db. */
static int bias(struct ferry__plan *plan, const ferry_op_desc *op)
{
    const ferry_operand *dy = &op->in[0];
    ferry_operand db = ferry__operand_per_channel(&op->out[0], dy->rank), sums;
    struct ferry__binding temp = ferry__bind(FERRY__FROM_TEMP, 0),
                          to = ferry__bind(FERRY__FROM_OUT, 0);
    uint32_t axes = ((1u << dy->rank) - 1) & ~2u;
    int can = ferry__compose_reduce(plan, dy, ferry__bind(FERRY__FROM_IN, 0), FERRY_REDUCE_SUM,
                                    axes, 1, temp, &sums);

    if (can > 0)
        can = ferry__compose_binary(plan, FERRY_BINARY_SUM, 1, &db, to, &sums, temp, &db, to);
    plan->temporary_bytes = ferry__compose_bytes(&sums);
    return can;
}

int ferry__compose_backward(struct ferry__plan *plan, const ferry_op_desc *op)
{
    bool is_convolution = op->kind == FERRY_OP_CONVOLUTION;
    int can = 0;

    if (is_convolution && op->pass == FERRY_PASS_BACKWARD_DATA)
        can = convolution_data(plan, op);
    else if (is_convolution && op->pass == FERRY_PASS_BACKWARD_WEIGHTS)
        can = ferry__compose_weights(plan, op);
    else if ((is_convolution || op->kind == FERRY_OP_INNER_PRODUCT) &&
             op->pass == FERRY_PASS_BACKWARD_BIAS)
        can = bias(plan, op);
    else if (op->kind == FERRY_OP_INNER_PRODUCT)
        can = inner_product(plan, op);
    plan->repeated = plan->n_steps;
    if (can <= 0) {
        plan->temporary_bytes = 0;
        plan->repeat = 1;
    }
    return can;
}
