/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shapes and parameters of the backward passes. A pass whose gradient has the shape of a forward
 * operand is checked as the forward pass, with the operands exchanged accordingly.
 */
#include "op/kind.h"
#include "op/unary.h"

#include <ferry/status.h>

#include <stddef.h>

static int check_convolution(const ferry_op_desc *op)
{
    const ferry_operand *other = &op->in[1], *out = &op->out[0];
    bool data = op->pass == FERRY_PASS_BACKWARD_DATA;
    ferry_op_desc forward = *op;

    forward.out[0] = op->in[0];
    forward.in[0] = data ? *out : *other;
    forward.in[1] = data ? *other : *out;
    return op->kind == FERRY_OP_CONVOLUTION ? ferry__check_convolution(&forward)
                                            : ferry__check_inner_product(&forward);
}

/* Checks the diff of a bias, which has one element for each channel of dy. */
static int check_bias(const ferry_op_desc *op)
{
    const ferry_operand *dy = &op->in[0], *db = &op->out[0];

    if (dy->rank < 2)
        return ferry__misfit(op, "the rank of y", dy->rank, 2);
    if (db->rank != 1)
        return ferry__misfit(op, "the rank of its bias", db->rank, 1);
    return db->shape[0] == dy->shape[1]
               ? 0
               : ferry__misfit(op, "the length of its bias", db->shape[0], dy->shape[1]);
}

static int check_pool(const ferry_op_desc *op)
{
    uint32_t wants = op->params.pool.method == FERRY_POOL_MAX ? 2 : 1;
    ferry_op_desc forward = *op;

    if (op->params.pool.method <= FERRY_POOL_AVERAGE && op->n_in != wants)
        return ferry__misfit(op, "the number of inputs of this method", op->n_in, wants);
    forward.in[0] = op->out[0];
    forward.out[0] = op->in[0];
    forward.out[1] = op->in[1];
    forward.n_out = op->n_in;
    return ferry__check_pool(&forward);
}

static int check_unary(const ferry_op_desc *op)
{
    uint32_t function = op->params.unary.function;
    int err = ferry__check_function(op, "unary.function", function);

    if (err)
        return err;
    if (ferry__unary_gradient(function) == FERRY__GRADIENT_NONE)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %s has no derivative", ferry__op_title(op),
                               ferry__unary_name(function));
    err = ferry__check_same(op, &op->in[1], "in[1]", &op->in[0]);
    return err ? err : ferry__check_same(op, &op->out[0], "dx", &op->in[0]);
}

/* The number of inputs of a pass of a binary function; 0: the pass does not exist. */
static uint32_t binary_inputs(uint32_t function, uint32_t pass)
{
    static const uint8_t inputs[][3] = {
        [FERRY_BINARY_SUM] = { 0, 1, 0 },   [FERRY_BINARY_PRODUCT] = { 0, 2, 0 },
        [FERRY_BINARY_MAX] = { 3, 3, 0 },   [FERRY_BINARY_SCALE] = { 0, 2, 1 },
        [FERRY_BINARY_PRELU] = { 3, 2, 0 }, [FERRY_BINARY_QUOTIENT] = { 0 },
    };

    return inputs[function][pass - FERRY_PASS_BACKWARD_DATA];
}

static int check_binary(const ferry_op_desc *op)
{
    const ferry_operand *dy = &op->in[0], *out = &op->out[0];
    uint32_t function = op->params.binary.function, wants;
    bool data = op->pass == FERRY_PASS_BACKWARD_DATA;
    int err;

    if (function > FERRY_BINARY_QUOTIENT)
        return ferry__bad(op, "binary.function", function, 0, FERRY_BINARY_QUOTIENT);
    wants = binary_inputs(function, op->pass);
    if (!wants)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: function %u has no such pass, other operations compute it",
                               ferry__op_title(op), function);
    if (op->n_in != wants)
        return ferry__misfit(op, "the number of inputs of this function", op->n_in, wants);
    err =
        data ? ferry__check_same(op, out, "dx", dy) : ferry__check_repeated(op, out, "out[0]", dy);
    if (!err && wants > 1)
        err = data ? ferry__check_same(op, &op->in[1], "x", dy)
                   : ferry__check_repeated(op, &op->in[1], "x", dy);
    if (!err && wants > 2)
        err = data ? ferry__check_repeated(op, &op->in[2], "u", dy)
                   : ferry__check_same(op, &op->in[2], "u", out);
    return err;
}

static int check_reduce(const ferry_op_desc *op)
{
    uint32_t function = op->params.reduce.function, wants = function == FERRY_REDUCE_SUM ? 1 : 2;
    int err;

    if (function > FERRY_REDUCE_ARGMAX)
        return ferry__bad(op, "reduce.function", function, 0, FERRY_REDUCE_ARGMAX);
    if (function >= FERRY_REDUCE_MAX)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: a maximum has no backward pass",
                               ferry__op_title(op));
    if (op->n_in != wants)
        return ferry__misfit(op, "the number of inputs of this function", op->n_in, wants);
    err = ferry__check_reduced(op, &op->in[0], &op->out[0]);
    return err || wants < 2 ? err : ferry__check_same(op, &op->in[1], "x", &op->out[0]);
}

static int check_moments(const ferry_op_desc *op)
{
    const ferry_operand *dy = &op->in[0];
    int err;

    if (op->n_in == 2)
        return ferry__misfit(op, "the number of inputs", op->n_in, 3);
    err = ferry__check_axes(op, dy);
    if (!err)
        err = ferry__check_same(op, &op->out[0], "dx", dy);
    if (err || op->n_in < 2)
        return err;
    err = ferry__check_same(op, &op->in[1], "y", dy);
    return err ? err : ferry__check_reduced(op, &op->in[2], dy);
}

static int check_softmax(const ferry_op_desc *op)
{
    int err = ferry__check_softmax(op);

    return err ? err : ferry__check_same(op, &op->in[1], "y", &op->in[0]);
}

static int check_lrn(const ferry_op_desc *op)
{
    static const char *const names[] = { "dy", "x", "y", "scale" };
    int err = ferry__check_lrn(op);
    uint32_t i;

    for (i = 1; !err && i < op->n_in; i++)
        err = ferry__check_same(op, &op->in[i], names[i], &op->in[0]);
    return err;
}

static int check_resize(const ferry_op_desc *op)
{
    ferry_op_desc forward = *op;

    forward.in[0] = op->out[0];
    forward.out[0] = op->in[0];
    return ferry__check_resize(&forward);
}

enum { DATA = FERRY_PASS_BACKWARD_DATA, WEIGHTS, BIAS };

/* Defines a check that calls another pass's check. */
#define SAME(id, function)                         \
    int ferry__check_##id(const ferry_op_desc *op) \
    {                                              \
        return function(op);                       \
    }
SAME(convolution_data, check_convolution)
SAME(convolution_weights, check_convolution)
SAME(convolution_bias, check_bias)
SAME(inner_product_data, check_convolution)
SAME(inner_product_weights, check_convolution)
SAME(inner_product_bias, check_bias)
SAME(pool_data, check_pool)
SAME(unary_data, check_unary)
SAME(binary_data, check_binary)
SAME(binary_weights, check_binary)
SAME(binary_bias, check_binary)
SAME(reduce_data, check_reduce)
SAME(moments_data, check_moments)
SAME(softmax_data, check_softmax)
SAME(lrn_data, check_lrn)
SAME(resize_data, check_resize)
