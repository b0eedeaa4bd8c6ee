/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layers with weights: convolutions, inner products, lookups; and im2col, a convolution with
 * one-hot kernels.
 */
#include "net/layers/convolution.h"
#include "net/onnx/layers.h"

#include <string.h>

/* ---- windows -------------------------------------------------------------------------------- */

/* The number of axes of the Conv: at least one. */
static int axes_of(const struct ferry__window *w)
{
    return w->axes ? (int)w->axes : 1;
}

/*
 * Emits the padding of a kernel of one element as a node of its own, since OpenCV 5.0 ignores the
 * padding of such a Conv, and removes it from the window.
 */
static int padded(struct ferry__onnx *o, int x, struct ferry__window *w)
{
    int64_t pads[2 * (FERRY_MAX_AXES + 2)] = { 0 };
    int n = 2 + (int)w->axes, i;
    bool any = false;

    for (i = 0; i < (int)w->axes; i++) {
        if (w->kernel[i] != 1)
            return x;
        pads[2 + i] = pads[n + 2 + i] = w->pad[i];
        any = any || w->pad[i];
    }
    if (!any)
        return x;
    memset(w->pad, 0, sizeof w->pad);
    return ferry__onnx_pad(o, x, n, pads);
}

/* Sets the attributes of a Conv or ConvTranspose. */
static void set_window(struct ferry__onnx *o, const struct ferry__window *w, int64_t group)
{
    int64_t kernel[FERRY_MAX_AXES] = { 1 }, stride[FERRY_MAX_AXES] = { 1 };
    int64_t dilation[FERRY_MAX_AXES] = { 1 }, pads[2 * FERRY_MAX_AXES] = { 0 };
    int n = axes_of(w), i;

    for (i = 0; i < (int)w->axes; i++) {
        kernel[i] = w->kernel[i];
        stride[i] = w->stride[i];
        dilation[i] = w->dilation[i];
        pads[i] = pads[n + i] = w->pad[i];
    }
    ferry__onnx_set_ints(o, "kernel_shape", n, kernel);
    ferry__onnx_set_ints(o, "strides", n, stride);
    ferry__onnx_set_ints(o, "dilations", n, dilation);
    ferry__onnx_set_ints(o, "pads", 2 * n, pads);
    ferry__onnx_set_int(o, "group", group);
}

/* Reshapes a bottom to images × channels × spatial axes. */
static int images(struct ferry__onnx *o, int index, int axis, const struct ferry__window *w)
{
    const ferry_blob *b = ferry__onnx_bottom_blob(o, index);
    int64_t dims[FERRY_MAX_AXES + 2] = { 1, 1, 1 };
    int i;

    if (axis == 1 && w->axes)
        return ferry__onnx_bottom(o, index);
    dims[0] = ferry_blob_element_count_range(b, 0, axis);
    for (i = 0; i <= (int)w->axes; i++)
        dims[1 + i] = ferry_blob_dim(b, axis + i);
    return ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, index), 2 + axes_of(w), dims);
}

/* Reshapes the result to the shape of its top, if they differ. */
static void finish(struct ferry__onnx *o, int index, int y, int axis, const struct ferry__window *w)
{
    if (axis != 1 || !w->axes)
        y = ferry__onnx_reshape_as(o, y, ferry__onnx_top_blob(o, index));
    ferry__onnx_top(o, index, y);
}

/* ---- convolutions --------------------------------------------------------------------------- */

static int weights(struct ferry__onnx *o, const struct convolution *c)
{
    const ferry_blob *w = ferry_layer_param_at(o->layer, 0);
    int64_t dims[FERRY_MAX_AXES + 2] = { 1, 1, 1 };
    int i, rank = ferry_blob_rank(w);

    for (i = 0; i < rank; i++)
        dims[i] = ferry_blob_dim(w, i);
    return ferry__onnx_param(o, 0, 2 + axes_of(&c->window), dims);
}

void ferry__onnx_convolution(struct ferry__onnx *o)
{
    const struct convolution *c = ferry_layer_state(o->layer);
    int64_t taps = ferry_blob_element_count_range(ferry_layer_param_at(o->layer, 0), 1,
                                                  2 + (int)c->window.axes);
    struct ferry__window w;
    int in[3], i, y;
    double scale = 0;

    for (i = 0; i < o->layer->n_bottoms; i++) {
        w = c->window;
        in[0] = images(o, i, c->axis, &w);
        if (!c->transposed)
            in[0] = ferry__onnx_on_grid(o, padded(o, in[0], &w), i, &scale);
        in[1] = weights(o, c);
        in[2] = c->bias ? ferry__onnx_param(o, 1, 1, &c->outputs) : 0;
        y = ferry__onnx_op(o, c->transposed ? "ConvTranspose" : "Conv", c->bias ? 3 : 2, in);
        set_window(o, &w, c->group);
        if (!c->transposed) {
            ferry__onnx_set_absorbs(o, 1, c->outputs, taps);
            ferry__onnx_set_quantized(o, scale);
        } else if (c->group == 1)
            ferry__onnx_set_absorbs(o, 1, c->outputs, taps / c->outputs);
        finish(o, i, y, c->axis, &c->window);
    }
}

/*
 * Adds im2col: each pair of a channel and a tap is a channel of the result. Its convolution kernel
 * has a one at that tap.
 */
void ferry__onnx_im2col(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "convolution_param");
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    int axis = ferry__onnx_axis(b, p, "axis"), i;
    int64_t channels = ferry_blob_dim(b, axis), taps = 1, dims[FERRY_MAX_AXES + 2] = { 1, 1, 1 }, k;
    struct ferry__window w;
    float *ones;
    int y;

    if (!o->err)
        o->err = ferry__window_read(o->layer, p, (uint32_t)(ferry_blob_rank(b) - axis - 1), &w);
    if (o->err)
        return;
    for (i = 0; i < (int)w.axes; i++)
        taps *= dims[2 + i] = w.kernel[i];
    dims[0] = channels * taps;
    ones = ferry__onnx_alloc(o, (size_t)(dims[0] * taps) * sizeof *ones);
    for (k = 0; ones && k < dims[0]; k++)
        ones[k * taps + k % taps] = 1;
    if (!ones)
        return;
    y = ONNX_OP(o, "Conv", images(o, 0, axis, &w),
                ferry__onnx_floats(o, 2 + axes_of(&w), dims, ones));
    set_window(o, &w, channels);
    finish(o, 0, y, axis, &w);
}

/* ---- products and lookups ------------------------------------------------------------------- */

void ferry__onnx_inner_product(struct ferry__onnx *o)
{
    const ferry_proto *p = ferry__onnx_message(o->layer, "inner_product_param");
    const ferry_blob *b = ferry__onnx_bottom_blob(o, 0);
    const ferry_blob *w = ferry_layer_param_at(o->layer, 0);
    bool plain = !ferry_proto_boolean(p, "transpose", 0), bias = o->layer->n_params > 1;
    int64_t n = ferry_proto_integer(p, "num_output", 0), k = ferry_blob_element_count(w) / n;
    int axis = ferry__onnx_axis(b, p, "axis"), in[3], y;
    double scale;

    in[0] = ferry__onnx_bottom(o, 0);
    if (axis != 1 || ferry_blob_rank(b) != 2) {
        in[0] = ONNX_OP(o, "Flatten", in[0]);
        ferry__onnx_set_int(o, "axis", axis);
    }
    in[0] = ferry__onnx_on_grid(o, in[0], 0, &scale);
    in[1] = ferry__onnx_param(o, 0, 2, plain ? (int64_t[]){ n, k } : (int64_t[]){ k, n });
    in[2] = bias ? ferry__onnx_param(o, 1, 1, &n) : 0;
    y = ferry__onnx_op(o, "Gemm", bias ? 3 : 2, in);
    ferry__onnx_set_int(o, "transB", plain);
    ferry__onnx_set_absorbs(o, 1, n, plain ? k : 1);
    ferry__onnx_set_quantized(o, scale);
    if (axis != 1)
        y = ferry__onnx_reshape_as(o, y, ferry__onnx_top_blob(o, 0));
    ferry__onnx_top(o, 0, y);
}

void ferry__onnx_embed(struct ferry__onnx *o)
{
    const ferry_blob *w = ferry_layer_param_at(o->layer, 0);
    int64_t dims[2] = { ferry_blob_dim(w, 0), ferry_blob_dim(w, 1) };
    int index = ferry__onnx_cast(o, ferry__onnx_bottom(o, 0), FERRY__ONNX_INT64);
    int y = ferry__onnx_gather(o, ferry__onnx_param(o, 0, 2, dims), index, 0);

    if (o->layer->n_params > 1)
        y = ONNX_OP(o, "Add", y, ferry__onnx_param(o, 1, 1, &dims[1]));
    ferry__onnx_top(o, 0, y);
}

void ferry__onnx_batch_reindex(struct ferry__onnx *o)
{
    int index = ferry__onnx_cast(o, ferry__onnx_bottom(o, 1), FERRY__ONNX_INT64);

    ferry__onnx_top(o, 0, ferry__onnx_gather(o, ferry__onnx_bottom(o, 0), index, 0));
}
