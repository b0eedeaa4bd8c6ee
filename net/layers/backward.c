/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that layers emit for backward. */
#include "net/layers/emit.h"
#include "op/unary.h"

#include <ferry/status.h>

#include <string.h>

int ferry__emit_pass(ferry_layer *layer, const ferry_op_desc *like, uint32_t pass, int n_in,
                     const struct ferry__term *in, struct ferry__term out)
{
    ferry_layer_operand in_at[FERRY_OP_INPUTS], out_at[1];
    ferry_op_desc op = *like;
    int i;

    op.pass = pass;
    op.n_in = op.n_out = op.constants = 0;
    memset(op.in, 0, sizeof op.in);
    memset(op.out, 0, sizeof op.out);
    for (i = 0; i < n_in; i++)
        ferry__op_in(&op, in_at, in[i].o, in[i].at);
    ferry__op_out(&op, out_at, out.o, out.at);
    return ferry_layer_emit(layer, &op, in_at, out_at);
}

int ferry__emit_product(ferry_layer *layer, struct ferry__term x, struct ferry__term u,
                        struct ferry__term y)
{
    return ferry__emit_binary(layer, FERRY_BINARY_PRODUCT, 1, 1, x.o, x.at, u.o, u.at, y.o, y.at);
}

int ferry__emit_sum(ferry_layer *layer, double scale, struct ferry__term x, struct ferry__term y)
{
    ferry_op_desc op;
    uint32_t i;

    ferry_op_desc_init(&op, FERRY_OP_REDUCE);
    op.params.reduce.function = FERRY_REDUCE_SUM;
    op.params.reduce.scale = scale;
    for (i = 0; i < x.o.rank; i++)
        if (x.o.shape[i] != y.o.shape[i])
            op.params.reduce.axes |= 1u << i;
    if (op.params.reduce.axes)
        return ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 1, &x, y);
    return ferry__emit_scaled(layer, scale, x, y);
}

int ferry__emit_scaled(ferry_layer *layer, double factor, struct ferry__term x,
                       struct ferry__term y)
{
    ferry_op_desc op;

    if (factor == 1)
        return ferry__emit_copy(layer, x.o, x.at, y.o, y.at);
    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = FERRY_UNARY_POWER;
    op.params.unary.a = 1;
    op.params.unary.b = factor;
    return ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 1, &x, y);
}

int ferry__emit_zeros(ferry_layer *layer, ferry_layer_operand to, int scratch)
{
    ferry_operand y = ferry__whole(layer, to), x;
    int64_t one = 1;
    uint32_t i;

    if (!ferry_layer_scratch(layer, scratch, 1, &one, 1))
        return ferry_last_error_code();
    x = y;
    for (i = 0; i < x.rank; i++)
        x.stride[i] = 0;
    return ferry__emit_copy(layer, x, ferry__of_scratch(scratch), y, to);
}

/* Copies blob b, the operand `at`, into a scratch blob and makes `at` refer to the copy. */
static int keep(ferry_layer *layer, const ferry_blob *b, int scratch, ferry_layer_operand *at)
{
    const ferry_layer_operand from = *at;
    int64_t count = ferry_blob_element_count(b);
    ferry_operand x = ferry_operand_make(FERRY_F32, &count, 1, NULL);

    *at = ferry__of_scratch(scratch);
    if (!ferry_layer_scratch(layer, scratch, 1, ferry_blob_shape(b), ferry_blob_rank(b)))
        return ferry_last_error_code();
    return ferry__emit_copy(layer, x, from, x, *at);
}

int ferry__input_kept(ferry_layer *layer, int scratch, ferry_layer_operand *out)
{
    *out = ferry__of_bottom(0);
    if (!ferry_layer_needs_backward(layer) || !ferry_layer_is_in_place(layer, 0))
        return 0;
    return keep(layer, ferry_layer_bottom_at(layer, 0), scratch, out);
}

int ferry__result_kept(ferry_layer *layer, int top, int scratch, ferry_layer_operand *out)
{
    *out = ferry__of_top(top);
    return ferry_layer_is_overwritten(layer, top)
               ? keep(layer, ferry_layer_top_at(layer, top), scratch, out)
               : 0;
}

/* ---- unary ----------------------------------------------------------------------------------- */

/*
 * Whether the gradient of a function is computed from its result. For a layer in place this
 * includes ReLU and Clip, whose gradient then does not need the input (as in Caffe).
 */
static bool takes_result(const ferry_layer *layer, uint32_t function)
{
    enum ferry__gradient gradient = ferry__unary_gradient(function);

    return gradient == FERRY__GRADIENT_RESULT ||
           (gradient == FERRY__GRADIENT_EITHER && ferry_layer_is_in_place(layer, 0));
}

int ferry__unary_layer(ferry_layer *layer, uint32_t function, double a, double b, double c)
{
    const struct ferry__term dx = ferry__term(layer, ferry__diff(ferry__of_bottom(0)));
    ferry_layer_operand of = ferry__of_top(0);
    struct ferry__term in[2];
    ferry_op_desc op;
    bool result = takes_result(layer, function);
    int err = ferry__top_like(layer, 0, ferry_layer_bottom_at(layer, 0));

    if (!err && !result)
        err = ferry__input_kept(layer, 0, &of);
    if (!err)
        err = ferry__emit_unary(layer, function, a, b, c, ferry__of_bottom(0), ferry__of_top(0));
    if (!err && result)
        err = ferry__result_kept(layer, 0, 0, &of);
    if (err || !ferry_layer_propagates(layer, 0) ||
        ferry__unary_gradient(function) == FERRY__GRADIENT_NONE)
        return err;
    ferry_op_desc_init(&op, FERRY_OP_UNARY);
    op.params.unary.function = function;
    op.params.unary.a = a;
    op.params.unary.b = b;
    op.params.unary.c = c;
    in[0] = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    in[1] = ferry__term(layer, of);
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 2, in, dx);
}
