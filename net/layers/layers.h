/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ferry's own layer types, one file each, and what those files share.
 */
#ifndef FERRY_NET_LAYERS_LAYERS_H
#define FERRY_NET_LAYERS_LAYERS_H

#include <ferry/layer.h>
#include <stdbool.h>

/* ferry's own types, by indices from 0 on; NULL behind the last. */
const ferry_layer_type *ferry__layer_at(int index);

/* Those of unary.c; one without a name ends the list. */
extern const ferry_layer_type ferry__unary_layers[];

/* Its tops have diffs of their own. */
extern const ferry_layer_type ferry__split_layer;

/* ---- shapes (shared.c) ---- */

/* Gives top `top` the shape of a blob. */
int ferry__top_like(ferry_layer *layer, int top, const ferry_blob *b);

/* FERRY_ESHAPE, with both shapes: bottom `index` does not go with bottom `other`, for they `differ`. */
int ferry__bottoms_differ(ferry_layer *layer, int index, int other, const char *differ);

/* An axis, counted from the end where it is negative, among rank; FERRY_EFORMAT, with the field's place. */
int ferry__axis_of(const ferry_layer *layer, const ferry_proto *p, const char *field, int64_t axis,
                   int rank, int *out);

/* ---- files (shared.c) ---- */

/*
 * The path of a file or folder: `path` as it is, or else in the folder of the file `namer`; to be freed. FERRY_EIO names
 * both places if neither exists; FERRY_ENOMEM.
 */
int ferry__find_file(const char *path, const char *namer, char **out);

/* The file that a field names, there or beside the net's text; to be freed. FERRY_EFORMAT: it names none. */
int ferry__file_of(const ferry_layer *layer, const ferry_proto *p, const char *field, char **out);

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

/* The diff of the same blob. */
static inline ferry_layer_operand ferry__diff(ferry_layer_operand at)
{
    at.diff = 1;
    return at;
}

/* The operand of a blob of the layer, plain, as inputs and outputs of an operation. */
ferry_operand ferry__whole(const ferry_layer *layer, ferry_layer_operand at);

/* The same elements as outer × mid × inner: the axes before `axis`, it, and those behind it. */
ferry_operand ferry__around(const ferry_layer *layer, ferry_layer_operand at, int axis);

/* Adds an operand to an operation that is being filled in. */
void ferry__op_in(ferry_op_desc *op, ferry_layer_operand *list, ferry_operand o,
                  ferry_layer_operand at);
void ferry__op_out(ferry_op_desc *op, ferry_layer_operand *list, ferry_operand o,
                   ferry_layer_operand at);

/* Emits a unary function from one operand to another, both whole. */
int ferry__emit_unary(ferry_layer *layer, uint32_t function, double a, double b, double c,
                      ferry_layer_operand from, ferry_layer_operand to);

/* Emits a binary function of whole operands that are given as such. */
int ferry__emit_binary(ferry_layer *layer, uint32_t function, double a, double b, ferry_operand x,
                       ferry_layer_operand x_at, ferry_operand u, ferry_layer_operand u_at,
                       ferry_operand y, ferry_layer_operand y_at);

/* Emits y = x, of one shape. */
int ferry__emit_copy(ferry_layer *layer, ferry_operand x, ferry_layer_operand x_at, ferry_operand y,
                     ferry_layer_operand y_at);

/* ---- backward (backward.c) ---- */

/* An operand and where it is. */
struct ferry__term {
    ferry_operand o;
    ferry_layer_operand at;
};

static inline struct ferry__term ferry__term(const ferry_layer *layer, ferry_layer_operand at)
{
    return (struct ferry__term){ ferry__whole(layer, at), at };
}

/* Emits an operation of `like`'s kind and parameters, in another pass and with these operands. */
int ferry__emit_pass(ferry_layer *layer, const ferry_op_desc *like, uint32_t pass, int n_in,
                     const struct ferry__term *in, struct ferry__term out);

/* Emits y = x · u, with what is shorter repeated. */
int ferry__emit_product(ferry_layer *layer, struct ferry__term x, struct ferry__term u,
                        struct ferry__term y);

/* Emits y = scale · the sums of x over the axes that y has not. */
int ferry__emit_sum(ferry_layer *layer, double scale, struct ferry__term x, struct ferry__term y);

/* Emits y = factor · x, of one shape. */
int ferry__emit_scaled(ferry_layer *layer, double factor, struct ferry__term x,
                       struct ferry__term y);

/* Emits zeros; scratch blob `scratch` is theirs. */
int ferry__emit_zeros(ferry_layer *layer, ferry_layer_operand to, int scratch);

/*
 * Where backward finds what bottom 0 held before forward: there, or in scratch blob `scratch` where top
 * 0 takes its place; the copy is emitted here, and is to be emitted first.
 */
int ferry__input_kept(ferry_layer *layer, int scratch, ferry_layer_operand *out);

/*
 * Where backward finds what forward wrote into a top: there, or in scratch blob `scratch` where a layer behind
 * this one overwrites it; the copy is emitted here, behind the operations that fill the top.
 */
int ferry__result_kept(ferry_layer *layer, int top, int scratch, ferry_layer_operand *out);

/* Emits bottom 0 → top 0 by a unary function, and its way back. */
int ferry__unary_layer(ferry_layer *layer, uint32_t function, double a, double b, double c);

/*
 * Shapes top 0 as regions × outputs × h × w and emits the pooling of the regions in bottom 1; `group`
 * and `scale` as ferry_op_params.roi has them.
 */
int ferry__regions(ferry_layer *layer, int64_t outputs, int64_t h, int64_t w, uint32_t group,
                   double scale);

/* The gradient of bottom 0, on the host; and why there is none of bottom 1 (regions_backward.c). */
int ferry__regions_backward(ferry_layer *layer, uint32_t group, double scale);
const char *ferry__regions_refuse(const ferry_layer *layer, int index);

/* ---- regions (region.c) ---- */

/* Elements that two blobs of any number of axes have in common: an axis has a step, in elements, in each of them. */
struct ferry__region {
    int axes;
    int64_t shape[FERRY_MAX_AXES + 2], step_x[FERRY_MAX_AXES + 2], step_y[FERRY_MAX_AXES + 2];
};

/*
 * Emits y = x or, with `add`, y += x over a region; the operands begin at their offsets. Axes that follow one another
 * in both are one, and an operation for each place of what FERRY_OP_AXES do not hold. A region without elements is none.
 */
int ferry__emit_region(ferry_layer *layer, const struct ferry__region *region,
                       ferry_layer_operand x, ferry_layer_operand y, bool add);

/* The same elements the other way, y to x. */
struct ferry__region ferry__region_back(const struct ferry__region *region);

/* ---- windows (window.c) ---- */

/* A window over any number of spatial axes; ferry_op_window has FERRY_OP_SPATIAL of them at most. */
struct ferry__window {
    uint32_t axes;
    int64_t kernel[FERRY_MAX_AXES], stride[FERRY_MAX_AXES], pad[FERRY_MAX_AXES],
        dilation[FERRY_MAX_AXES];
};

/*
 * Kernel, stride, pad and dilation of a ConvolutionParameter for `axes` spatial axes, in all the ways
 * that it can say them. FERRY_EFORMAT with the place.
 */
int ferry__window_read(const ferry_layer *layer, const ferry_proto *p, uint32_t axes,
                       struct ferry__window *out);

/* The same for an operation, of 1 to FERRY_OP_SPATIAL axes; without an axis it has one of one element. */
ferry_op_window ferry__window_of(const struct ferry__window *w);

/* Elements of an axis that the window makes of `in`; ≤ 0 where it does not fit. */
int64_t ferry__window_slid(const struct ferry__window *w, uint32_t axis, int64_t in);

/* ---- columns (columns.c) ---- */

/*
 * Planes of `wide` elements along each spatial axis, and what each of the window's taps sees of them at `narrow`
 * places: planes × taps × places.
 */
struct ferry__columns {
    const struct ferry__window *window;
    int64_t planes;
    int64_t wide[FERRY_MAX_AXES], narrow[FERRY_MAX_AXES];
};

/* The taps of a window; FERRY_EUNSUPPORTED for more than are emitted, each being an operation. */
int64_t ferry__columns_taps(const ferry_layer *layer, const struct ferry__window *w);

/* Emits the columns of an image; scratch blob `scratch` is for the zeros of its padding. */
int ferry__emit_columns(ferry_layer *layer, const struct ferry__columns *c,
                        ferry_layer_operand image, ferry_layer_operand columns, int scratch);

/* Emits the image, all of its blob, of which each element is the sum of its columns; likewise. */
int ferry__emit_image(ferry_layer *layer, const struct ferry__columns *c,
                      ferry_layer_operand columns, ferry_layer_operand image, int scratch);

#endif
