/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolution (convolution_param): cross-correlation over the axes after `axis` (1), the channel
 * axis. num_output, kernel_size, stride, pad, dilation, group, bias_term; weights (O, C/group,
 * kernel…), bias (O). Each bottom has its own top, with the same weights. Axes before the channels
 * are batch axes. (Caffe: BaseConvolutionLayer, ConvolutionLayer.)
 *
 * Deconvolution: the transpose of Convolution; a spatial axis becomes stride·(in − 1) +
 * dilation·(kernel − 1) + 1 − 2·pad elements long. Weights (C, O/group, kernel…). (Caffe:
 * DeconvolutionLayer.)
 *
 * ConvolutionDepthwise and DepthwiseConvolution: Convolution with one group for each channel;
 * `group` is ignored. (Forks for MobileNet.)
 */
#include "net/layers/convolution.h"

#include <ferry/status.h>

#include <string.h>

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "convolution_param", 0);
}

static int declare(ferry_layer *layer, struct convolution *c, int64_t channels,
                   const ferry_proto *p)
{
    int64_t shape[FERRY_MAX_AXES + 1], wide = c->transposed ? c->outputs : channels;
    ferry_layer_param weights = { .struct_size = sizeof weights, .shape = shape };
    uint32_t i;
    int err;

    shape[0] = c->transposed ? channels : c->outputs;
    shape[1] = wide / c->group;
    for (i = 0; i < c->window.axes; i++)
        shape[2 + i] = c->window.kernel[i];
    weights.rank = 2 + (int)c->window.axes;
    weights.lr_mult = weights.decay_mult = 1;
    weights.filler = ferry_proto_message(p, "weight_filler", 0);
    err = ferry_layer_declare_param(layer, &weights);
    if (err || !c->bias)
        return err;
    weights.rank = 1;
    shape[0] = c->outputs;
    weights.filler = ferry_proto_message(p, "bias_filler", 0);
    return ferry_layer_declare_param(layer, &weights);
}

static int groups_fit(const ferry_layer *layer, const struct convolution *c, int64_t channels,
                      const ferry_proto *p)
{
    if (c->group < 1 || channels % c->group || c->outputs % c->group)
        return ferry_proto_error(
            p, "group", 0, FERRY_ESHAPE, "layer \"%s\": %lld channels to %lld outputs in %u groups",
            ferry_layer_name(layer), (long long)channels, (long long)c->outputs, c->group);
    return 0;
}

/* Reads ConvolutionParameter and declares weights and bias. */
static int read_and_declare(ferry_layer *layer, bool transposed, bool depthwise)
{
    struct convolution *c = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    const ferry_proto *p = parameters(layer);
    int64_t channels, group;
    int err, axes;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                         ferry_blob_rank(bottom), &c->axis);
    if (err)
        return err;
    axes = ferry_blob_rank(bottom) - c->axis - 1;
    channels = ferry_blob_dim(bottom, c->axis);
    c->outputs = ferry_proto_integer(p, "num_output", 0);
    if (c->outputs < 1)
        return ferry_proto_error(p, "num_output", 0, FERRY_EFORMAT,
                                 "layer \"%s\": num_output is %lld", ferry_layer_name(layer),
                                 (long long)c->outputs);
    group = depthwise ? channels : ferry_proto_integer(p, "group", 0);
    c->group = group > 0 && group <= UINT32_MAX ? (uint32_t)group : 0;
    c->transposed = transposed;
    c->bias = ferry_proto_boolean(p, "bias_term", 0);
    err = groups_fit(layer, c, channels, p);
    if (!err)
        err = ferry__window_read(layer, p, (uint32_t)axes, &c->window);
    return err ? err : declare(layer, c, channels, p);
}

static int64_t made_of(const struct convolution *c, uint32_t axis, int64_t in)
{
    const struct ferry__window *w = &c->window;

    return c->transposed ? w->stride[axis] * (in - 1) + w->dilation[axis] * (w->kernel[axis] - 1) +
                               1 - 2 * w->pad[axis]
                         : ferry__window_slid(w, axis, in);
}

/*
 * A blob as an operand: the axes before the channels merged into one, then the channels, then the
 * spatial axes, at least one.
 */
static ferry_operand images(const ferry_blob *b, const struct convolution *c)
{
    int64_t shape[2 + FERRY_OP_SPATIAL] = { 1, 1, 1 };
    uint32_t i;

    shape[0] = ferry_blob_element_count_range(b, 0, c->axis);
    for (i = 0; i <= c->window.axes; i++)
        shape[1 + i] = ferry_blob_dim(b, c->axis + (int)i);
    return ferry_operand_make(FERRY_F32, shape, c->window.axes ? 2 + (int)c->window.axes : 3, NULL);
}

static int shape_top(ferry_layer *layer, const struct convolution *c, int k)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, k);
    int64_t shape[32];
    int rank = ferry_blob_rank(bottom), i;

    if (rank != c->axis + 1 + (int)c->window.axes)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom %d has %d axes, not %d", k, rank,
                                 c->axis + 1 + (int)c->window.axes);
    for (i = 0; i < c->axis; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    shape[i] = c->outputs;
    for (i++; i < rank; i++) {
        uint32_t axis = (uint32_t)(i - c->axis - 1);

        shape[i] = made_of(c, axis, ferry_blob_dim(bottom, i));
        if (shape[i] < 1)
            return ferry_layer_error(
                layer, FERRY_ESHAPE,
                "its kernel of %lld does not fit on %lld elements with %lld of "
                "padding",
                (long long)c->window.kernel[axis], (long long)ferry_blob_dim(bottom, i),
                (long long)c->window.pad[axis]);
    }
    return ferry_blob_reshape(ferry_layer_top_at(layer, k), shape, rank, NULL);
}

/* Emits the gradient of bottom k, and its contributions to those of the weights and the bias. */
static int emit_backward(ferry_layer *layer, const struct convolution *c, const ferry_op_desc *op,
                         ferry_layer_operand weights, int k)
{
    struct ferry__term dy = { op->out[0], ferry__diff(ferry__of_top(k)) };
    struct ferry__term x = { op->in[0], ferry__of_bottom(k) }, dx = x;
    struct ferry__term w = { op->in[1], weights }, dw = { op->in[1], ferry__of_param(0) };
    int err = 0;

    dx.at.diff = dw.at.diff = 1;
    if (c->bias && ferry_layer_param_propagates(layer, 1))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_BIAS, 1, &dy,
                               ferry__term(layer, ferry__diff(ferry__of_param(1))));
    if (!err && ferry_layer_param_propagates(layer, 0))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_WEIGHTS, 2,
                               (struct ferry__term[]){ dy, x }, dw);
    if (!err && ferry_layer_propagates(layer, k))
        err = ferry__emit_pass(layer, op, FERRY_PASS_BACKWARD_DATA, 2,
                               (struct ferry__term[]){ dy, w }, dx);
    return err;
}

/* Emits a top, with the weights of param 0 or a rounded copy of them. */
static int emit(ferry_layer *layer, const struct convolution *c, ferry_layer_operand weights,
                int k)
{
    ferry_layer_operand in[3], out[1];
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_CONVOLUTION);
    op.params.window = ferry__window_of(&c->window);
    op.params.window.group = c->group;
    op.params.window.transposed = c->transposed;
    if (ferry_layer_phase(layer) == FERRY_PHASE_TRAIN)
        op.math = FERRY_MATH_WINOGRAD_2;
    ferry__op_in(&op, in, images(ferry_layer_bottom_at(layer, k), c), ferry__of_bottom(k));
    ferry__op_in(&op, in, ferry__convolution_weights(layer, c), weights);
    if (c->bias)
        ferry__op_in(&op, in, ferry__whole(layer, ferry__of_param(1)), ferry__of_param(1));
    ferry__op_out(&op, out, images(ferry_layer_top_at(layer, k), c), ferry__of_top(k));
    err = ferry_layer_emit(layer, &op, in, out);
    return err ? err : emit_backward(layer, c, &op, weights, k);
}

/* Emits each top from its bottom, with the same weights. */
static int reshape(ferry_layer *layer)
{
    const struct convolution *c = ferry_layer_state(layer);
    const bool wide = c->window.axes > FERRY_OP_SPATIAL;
    ferry_layer_operand weights = ferry__of_param(0);
    int k, err = wide ? 0 : ferry__weights_rounded(layer, 0, 0, &weights);

    for (k = 0; !err && k < ferry_layer_bottom_count(layer); k++) {
        err = shape_top(layer, c, k);
        if (!err)
            err = wide ? ferry__convolution_emit_wide(layer, c, k) : emit(layer, c, weights, k);
    }
    return err;
}

static int setup(ferry_layer *layer)
{
    return read_and_declare(layer, false, false);
}

static int setup_transposed(ferry_layer *layer)
{
    return read_and_declare(layer, true, false);
}

static int setup_depthwise(ferry_layer *layer)
{
    return read_and_declare(layer, false, true);
}

static const char *const messages[] = { "convolution_param", NULL };

#define TYPE(id, type, setup_function)             \
    const ferry_layer_type ferry__##id##_layer = { \
        .struct_size = sizeof(ferry_layer_type),   \
        .name = type,                              \
        .state_size = sizeof(struct convolution),  \
        .min_bottoms = 1,                          \
        .max_bottoms = -1,                         \
        .min_tops = 1,                             \
        .max_tops = -1,                            \
        .flags = FERRY_LAYER_PAIRS,                \
        .messages = messages,                      \
        .setup = setup_function,                   \
        .reshape = reshape,                        \
    }

TYPE(convolution, "Convolution", setup);
TYPE(deconvolution, "Deconvolution", setup_transposed);
TYPE(convolution_depthwise, "ConvolutionDepthwise", setup_depthwise);
TYPE(depthwise_convolution, "DepthwiseConvolution", setup_depthwise);
