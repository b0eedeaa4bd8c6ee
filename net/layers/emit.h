/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the files of layer types share to emit operations. */
#ifndef FERRY_NET_LAYERS_EMIT_H
#define FERRY_NET_LAYERS_EMIT_H

#include "net/layers/layers.h"

#include <ferry/op.h>

/* ---- operands (shared.c) ---- */

static inline ferry_layer_operand ferry__of_bottom(int index)
{
    return (ferry_layer_operand){ .from = FERRY_FROM_BOTTOM, .index = index };
}

static inline ferry_layer_operand ferry__of_top(int index)
{
    return (ferry_layer_operand){ .from = FERRY_FROM_TOP, .index = index };
}

static inline ferry_layer_operand ferry__of_param(int index)
{
    return (ferry_layer_operand){ .from = FERRY_FROM_PARAM, .index = index };
}

static inline ferry_layer_operand ferry__of_scratch(int index)
{
    return (ferry_layer_operand){ .from = FERRY_FROM_SCRATCH, .index = index };
}

/* The diff of the operand's blob. */
static inline ferry_layer_operand ferry__diff(ferry_layer_operand at)
{
    at.diff = 1;
    return at;
}

/* The operand of a blob of the layer, in its full shape. */
ferry_operand ferry__whole(const ferry_layer *layer, ferry_layer_operand at);

/* A blob as outer × mid × inner: the axes before `axis`, the axis, and the axes after it. */
ferry_operand ferry__around(const ferry_layer *layer, ferry_layer_operand at, int axis);

/* Adds an operand to the operation under construction. */
void ferry__op_in(ferry_op_desc *op, ferry_layer_operand *list, ferry_operand o,
                  ferry_layer_operand at);
void ferry__op_out(ferry_op_desc *op, ferry_layer_operand *list, ferry_operand o,
                   ferry_layer_operand at);

/* Emits a unary function from one whole operand to another. */
int ferry__emit_unary(ferry_layer *layer, uint32_t function, double a, double b, double c,
                      ferry_layer_operand from, ferry_layer_operand to);

/* Emits a binary function of operands that the caller describes. */
int ferry__emit_binary(ferry_layer *layer, uint32_t function, double a, double b, ferry_operand x,
                       ferry_layer_operand x_at, ferry_operand u, ferry_layer_operand u_at,
                       ferry_operand y, ferry_layer_operand y_at);

/* Emits y = x for operands of one shape. */
int ferry__emit_copy(ferry_layer *layer, ferry_operand x, ferry_layer_operand x_at, ferry_operand y,
                     ferry_layer_operand y_at);

/* ---- backward (backward.c) ---- */

/* An operand's description, and the blob that it refers to. */
struct ferry__term {
    ferry_operand o;
    ferry_layer_operand at;
};

static inline struct ferry__term ferry__term(const ferry_layer *layer, ferry_layer_operand at)
{
    return (struct ferry__term){ ferry__whole(layer, at), at };
}

/* Emits an operation with `like`'s kind and parameters for another pass and with these operands. */
int ferry__emit_pass(ferry_layer *layer, const ferry_op_desc *like, uint32_t pass, int n_in,
                     const struct ferry__term *in, struct ferry__term out);

/* Emits y = x · u, with broadcasting. */
int ferry__emit_product(ferry_layer *layer, struct ferry__term x, struct ferry__term u,
                        struct ferry__term y);

/* Emits y = scale · the sums of x over the axes that y lacks. */
int ferry__emit_sum(ferry_layer *layer, double scale, struct ferry__term x, struct ferry__term y);

/* Emits y = factor · x for operands of one shape. */
int ferry__emit_scaled(ferry_layer *layer, double factor, struct ferry__term x,
                       struct ferry__term y);

/* Emits zeros; scratch blob `scratch` is used for this. */
int ferry__emit_zeros(ferry_layer *layer, ferry_layer_operand to, int scratch);

/*
 * The operand in which backward finds the values that bottom 0 had before forward: the bottom, or
 * scratch blob `scratch` if top 0 works in place on it; the copy is emitted here, so call this
 * before emitting anything else.
 */
int ferry__input_kept(ferry_layer *layer, int scratch, ferry_layer_operand *out);

/*
 * The operand in which backward finds the values that forward wrote into a top: the top, or scratch
 * blob `scratch` if a later layer overwrites it; the copy is emitted here, so call this after the
 * operations that fill the top.
 */
int ferry__result_kept(ferry_layer *layer, int top, int scratch, ferry_layer_operand *out);

/* Emits a unary function from bottom 0 to top 0, and its gradient. */
int ferry__unary_layer(ferry_layer *layer, uint32_t function, double a, double b, double c);

/*
 * Shapes top 0 as regions × outputs × h × w and emits the pooling of the regions in bottom 1;
 * `group` and `scale` are those of ferry_op_params.roi.
 */
int ferry__regions(ferry_layer *layer, int64_t outputs, int64_t h, int64_t w, uint32_t group,
                   double scale);

/*
 * Emits the gradient of bottom 0, computed on the host. The other function returns the message why
 * bottom 1 has no gradient (regions_backward.c).
 */
int ferry__regions_backward(ferry_layer *layer, uint32_t group, double scale);
const char *ferry__regions_refuse(const ferry_layer *layer, int index);

/*
 * The operand of the weights, parameter 0, or of their rounded copy, which is emitted here;
 * `axis` is that of the outputs. Uses scratch blobs `scratch` to `scratch` + 2 (fake_quantize.c).
 */
int ferry__weights_rounded(ferry_layer *layer, int scratch, int axis, ferry_layer_operand *out);

/* ---- regions (region.c) ---- */

/*
 * A region that two blobs of any rank have in common: each axis has one stride, in elements, in
 * each of them.
 */
struct ferry__region {
    int axes;
    int64_t shape[FERRY_MAX_AXES + 2], step_x[FERRY_MAX_AXES + 2], step_y[FERRY_MAX_AXES + 2];
};

/*
 * Emits y = x or, with `add`, y += x over a region; the operands begin at their offsets. Axes that
 * are contiguous in both are merged, and one operation is emitted for each index of the axes beyond
 * FERRY_OP_AXES. A region without elements emits nothing.
 */
int ferry__emit_region(ferry_layer *layer, const struct ferry__region *region,
                       ferry_layer_operand x, ferry_layer_operand y, bool add);

/*
 * For a layer whose top 0 is a region of its bottom 0: sets the top's shape and the region's
 * step_y, and emits the copy from `offset` of the bottom, and its backward if the layer propagates.
 */
int ferry__emit_cut(ferry_layer *layer, struct ferry__region *region, int64_t offset);

/* The region with x and y exchanged. */
struct ferry__region ferry__region_back(const struct ferry__region *region);

/* ---- windows (window.c) ---- */

/*
 * A window over any number of spatial axes; ferry_op_window supports at most FERRY_OP_SPATIAL of
 * them.
 */
struct ferry__window {
    uint32_t axes;
    int64_t kernel[FERRY_MAX_AXES], stride[FERRY_MAX_AXES], pad[FERRY_MAX_AXES],
        dilation[FERRY_MAX_AXES];
};

/*
 * Reads kernel, stride, pad and dilation of a ConvolutionParameter for `axes` spatial axes, in all
 * of its notations. FERRY_EFORMAT with the position.
 */
int ferry__window_read(const ferry_layer *layer, const ferry_proto *p, uint32_t axes,
                       struct ferry__window *out);

/*
 * The window of an operation, which has 1 to FERRY_OP_SPATIAL axes; a window without axes becomes
 * one axis of one element.
 */
ferry_op_window ferry__window_of(const struct ferry__window *w);

/* The output size of an axis of `in` elements; ≤ 0 if the window does not fit. */
int64_t ferry__window_slid(const struct ferry__window *w, uint32_t axis, int64_t in);

/* ---- columns (columns.c) ---- */

/*
 * Planes of `wide` elements along each spatial axis, and the elements that each tap of the window
 * covers at `narrow` positions: planes × taps × positions.
 */
struct ferry__columns {
    const struct ferry__window *window;
    int64_t planes;
    int64_t wide[FERRY_MAX_AXES], narrow[FERRY_MAX_AXES];
};

/*
 * The number of taps of a window; FERRY_EUNSUPPORTED above the limit, since each tap is one
 * operation.
 */
int64_t ferry__columns_taps(const ferry_layer *layer, const struct ferry__window *w);

/* Emits the columns of an image; scratch blob `scratch` holds the zeros of the padding. */
int ferry__emit_columns(ferry_layer *layer, const struct ferry__columns *c,
                        ferry_layer_operand image, ferry_layer_operand columns, int scratch);

/*
 * Emits the image from its columns: each element is the sum of its columns. Writes the whole blob;
 * `scratch` as above.
 */
int ferry__emit_image(ferry_layer *layer, const struct ferry__columns *c,
                      ferry_layer_operand columns, ferry_layer_operand image, int scratch);

#endif
