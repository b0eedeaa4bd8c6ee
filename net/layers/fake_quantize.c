/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FakeQuantize: rounds values to the levels of 8 bits of their range, and is not a type of texts:
 * nets with `fake_quantize` insert it (net/model/fake.h). The gradient is that of clipping, the
 * straight-through estimator of Y. Bengio et al., "Estimating or Propagating Gradients Through
 * Stochastic Neurons", 2013. Weights of convolutions and inner products are rounded likewise, for
 * each output: their greatest absolute value is a level, so that none is clipped, and their
 * gradient is that of the rounded weights (B. Jacob et al., CVPR 2018, section 3).
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>

#define LEVELS 127.0

static int reshape(ferry_layer *layer)
{
    const struct ferry__term x = ferry__term(layer, ferry__of_bottom(0));
    const struct ferry__term y = ferry__term(layer, ferry__of_top(0));
    double scale, least, most;
    int err = ferry__top_like(layer, 0, ferry_layer_bottom_at(layer, 0));

    if (err || ferry__layer_grid(layer, &scale, &least, &most))
        return err ? err
                   : ferry__unary_layer(layer, FERRY_UNARY_ROUND, 1 / scale, least, most);
    if (ferry_layer_is_in_place(layer, 0))
        return 0;
    err = ferry__emit_copy(layer, x.o, x.at, x.o, y.at);
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_copy(layer, x.o, ferry__diff(y.at), x.o, ferry__diff(x.at));
    return err;
}

const ferry_layer_type ferry__fake_quantize_layer = {
    .struct_size = sizeof ferry__fake_quantize_layer,
    .name = "FakeQuantize",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_IN_PLACE | FERRY_LAYER_EMPTY_BACKWARD,
    .reshape = reshape,
};

/* ---- weights --------------------------------------------------------------------------------- */

/* Emits the greatest absolute value of each output's weights, and at least the least F32 number. */
static int emit_most(ferry_layer *layer, struct ferry__term w, struct ferry__term size,
                     struct ferry__term most)
{
    ferry_layer_operand in[1] = { size.at }, out[1] = { most.at };
    ferry_op_desc op;
    int err = ferry__emit_unary(layer, FERRY_UNARY_ABS, 0, 0, 0, w.at, size.at);

    ferry_op_desc_init(&op, FERRY_OP_REDUCE);
    op.params.reduce.function = FERRY_REDUCE_MAX;
    op.params.reduce.scale = 1;
    op.params.reduce.axes = 1u << 0 | 1u << 2;
    op.n_in = op.n_out = 1;
    op.in[0] = size.o;
    op.out[0] = most.o;
    op.n_epilogue = 1;
    op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY,
                                      .function = FERRY_UNARY_CLIP,
                                      .a = (double)FLT_MIN,
                                      .b = (double)FLT_MAX };
    return err ? err : ferry_layer_emit(layer, &op, in, out);
}

/* Emits w divided by the greatest value, rounded to whole levels, times the greatest value. */
static int emit_rounded(ferry_layer *layer, struct ferry__term w, struct ferry__term most,
                        struct ferry__term to)
{
    ferry_layer_operand in[2] = { w.at, most.at }, out[1] = { to.at };
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_QUOTIENT;
    op.n_in = 2;
    op.n_out = 1;
    op.in[0] = w.o;
    op.in[1] = most.o;
    op.out[0] = to.o;
    op.n_epilogue = 1;
    op.epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY,
                                      .function = FERRY_UNARY_ROUND,
                                      .a = LEVELS,
                                      .b = -LEVELS,
                                      .c = LEVELS };
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err : ferry__emit_product(layer, to, most, to);
}

int ferry__weights_rounded(ferry_layer *layer, int scratch, int axis, ferry_layer_operand *out)
{
    const ferry_layer_operand w = ferry__of_param(0), to = ferry__of_scratch(scratch);
    const ferry_blob *b = ferry_layer_param_at(layer, 0);
    const ferry_layer_operand size = ferry__of_scratch(scratch + 1);
    const ferry_layer_operand most = ferry__of_scratch(scratch + 2);
    const bool keep = ferry_layer_needs_backward(layer);
    const int64_t *shape = ferry_blob_shape(b);
    int64_t outputs[3] = { 1, b ? ferry_blob_dim(b, axis) : 0, 1 };
    int err;

    *out = w;
    if (!ferry__layer_rounds_weights(layer) || !ferry_blob_element_count(b))
        return 0;
    *out = to;
    if (!ferry_layer_scratch(layer, scratch, keep, shape, ferry_blob_rank(b)) ||
        !ferry_layer_scratch(layer, scratch + 1, false, shape, ferry_blob_rank(b)) ||
        !ferry_layer_scratch(layer, scratch + 2, false, outputs, 3))
        return ferry_last_error_code();
    err = emit_most(layer, (struct ferry__term){ ferry__around(layer, w, axis), w },
                    (struct ferry__term){ ferry__around(layer, size, axis), size },
                    ferry__term(layer, most));
    return err ? err
               : emit_rounded(layer, (struct ferry__term){ ferry__around(layer, w, axis), w },
                              ferry__term(layer, most),
                              (struct ferry__term){ ferry__around(layer, to, axis), to });
}
