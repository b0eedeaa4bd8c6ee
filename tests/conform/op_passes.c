/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <string.h>

/* Backward passes, derived from the forward operation: dy has out[0]'s shape, dx in[0]'s. */

/* An operation whose first inputs are the given operands, ended by NULL. */
static ferry_op_desc pass_of(const ferry_op_desc *forward, uint32_t pass,
                             const ferry_operand *const *in, const ferry_operand *out)
{
    ferry_op_desc op = op_begin(forward->kind, 0, 1);

    op.pass = pass;
    op.params = forward->params;
    for (; in[op.n_in]; op.n_in++)
        op.in[op.n_in] = *in[op.n_in];
    op.out[0] = *out;
    return op;
}

#define PASS(forward, pass, out, ...) \
    pass_of(forward, pass, (const ferry_operand *const[]){ __VA_ARGS__, NULL }, out)

/* The passes of convolutions and inner products; weights may be packed for the gradient, too. */
static void weighted(const ferry_op_desc *f, const char *note)
{
    const ferry_operand *dy = &f->out[0], *x = &f->in[0], *w = &f->in[1];
    ferry_op_desc op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, dy, w);
    ferry_operand bias;

    op_try(&op, note, false);
    op.constants = 2;
    op_try(&op, note, false);
    op = PASS(f, FERRY_PASS_BACKWARD_WEIGHTS, w, dy, x);
    op_try(&op, note, false);
    OP_SHAPE(&bias, dy->dtype, dy->shape[1]);
    op = PASS(f, FERRY_PASS_BACKWARD_BIAS, &bias, dy);
    op_try(&op, note, false);
}

static void unary(const ferry_op_desc *f, const char *note)
{
    ferry_op_desc op = PASS(f, FERRY_PASS_BACKWARD_DATA, &f->in[0], &f->out[0], &f->in[0]);

    if (f->params.unary.function == FERRY_UNARY_THRESHOLD)
        return;
    op_try(&op, note, false);
    op_try(&op, "in place", true);
}

static void binary(const ferry_op_desc *f, const char *note)
{
    const ferry_operand *dy = &f->out[0], *x = &f->in[0], *u = &f->in[1];
    uint32_t function = f->params.binary.function;
    ferry_op_desc op;

    if (function == FERRY_BINARY_NORMALISE || function == FERRY_BINARY_QUOTIENT)
        return;
    if (function == FERRY_BINARY_MAX || function == FERRY_BINARY_PRELU) {
        op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, dy, x, u);
        op_try(&op, note, false);
    }
    op = PASS(f, FERRY_PASS_BACKWARD_WEIGHTS, u, dy, x, u);
    op.n_in = function == FERRY_BINARY_SUM ? 1 : function == FERRY_BINARY_MAX ? 3 : 2;
    for (uint32_t i = op.n_in; i < FERRY_OP_INPUTS; i++)
        memset(&op.in[i], 0, sizeof(op.in[i]));
    op_try(&op, note, false);
    if (function == FERRY_BINARY_SCALE) {
        op = PASS(f, FERRY_PASS_BACKWARD_BIAS, u, dy);
        op_try(&op, note, false);
    }
}

static void pool(const ferry_op_desc *f, const char *note)
{
    ferry_op_desc op = f->n_out > 1
                           ? PASS(f, FERRY_PASS_BACKWARD_DATA, &f->in[0], &f->out[0], &f->out[1])
                           : PASS(f, FERRY_PASS_BACKWARD_DATA, &f->in[0], &f->out[0]);

    op_try(&op, note, false);
}

static void reduce(const ferry_op_desc *f, const char *note)
{
    const ferry_operand *x = &f->in[0];
    ferry_op_desc op = f->params.reduce.function == FERRY_REDUCE_SUM
                           ? PASS(f, FERRY_PASS_BACKWARD_DATA, x, &f->out[0])
                           : PASS(f, FERRY_PASS_BACKWARD_DATA, x, &f->out[0], x);

    if (f->params.reduce.function < FERRY_REDUCE_MAX)
        op_try(&op, note, false);
}

static void moments(const ferry_op_desc *f, const char *note)
{
    const ferry_operand *x = &f->in[0];
    ferry_op_desc op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, x);

    op_try(&op, note, false);
    op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, x, x, &f->out[0]);
    op_try(&op, note, false);
}

void op_try_backward(const ferry_op_desc *f, const char *note)
{
    const ferry_operand *x = &f->in[0];
    ferry_op_desc op;

    switch (f->kind) {
    case FERRY_OP_CONVOLUTION:
    case FERRY_OP_INNER_PRODUCT:
        weighted(f, note);
        return;
    case FERRY_OP_UNARY:
        unary(f, note);
        return;
    case FERRY_OP_BINARY:
        binary(f, note);
        return;
    case FERRY_OP_POOL:
        pool(f, note);
        return;
    case FERRY_OP_REDUCE:
        reduce(f, note);
        return;
    case FERRY_OP_MOMENTS:
        moments(f, note);
        return;
    case FERRY_OP_LRN:
        op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, x, x, x, x);
        break;
    case FERRY_OP_RESIZE:
        op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, &f->out[0]);
        break;
    default: /* SOFTMAX */
        op = PASS(f, FERRY_PASS_BACKWARD_DATA, x, x, x);
        break;
    }
    op_try(&op, note, false);
}
