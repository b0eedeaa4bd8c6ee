/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binary (binary_param), ferry's own: ADD, SUBTRACT, MULTIPLY or DIVIDE of two bottoms, with
 * broadcasting: a bottom is repeated along axes of one element, and along leading axes that it
 * lacks. (ONNX: Add, Sub, Mul, Div.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

/* The layer's scratch blobs. */
enum { PRODUCT };

enum operation { ADD, SUBTRACT, MULTIPLY, DIVIDE };

/* The operands of the bottoms and the top, with as few axes as possible. */
struct operands {
    ferry_operand x, u, y;
};

static enum operation operation_of(const ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "binary_param", 0);

    return (enum operation)ferry_proto_integer(p, "operation", 0);
}

/* Dimension `axis` of a blob that is extended to `rank` axes by leading axes of 1. */
static int64_t dim_of(const ferry_blob *b, int axis, int rank)
{
    int own = axis - (rank - ferry_blob_rank(b));

    return own < 0 ? 1 : ferry_blob_dim(b, own);
}

/*
 * Makes the operands: adjacent axes along which x, u and y are broadcast in the same way become one
 * axis. False: an operation does not support that many axes.
 */
static bool make_operands(const ferry_blob *x, const ferry_blob *u, const int64_t *shape, int rank,
                          struct operands *out)
{
    int64_t dims[3][FERRY_OP_AXES];
    int n = 0, last = -1, i;

    for (i = 0; i < rank; i++) {
        int64_t dx = dim_of(x, i, rank), du = dim_of(u, i, rank);
        int repeats = (dx != shape[i]) + 2 * (du != shape[i]);

        if (shape[i] == 1)
            continue;
        if (repeats != last) {
            if (n == FERRY_OP_AXES)
                return false;
            dims[0][n] = dims[1][n] = dims[2][n] = 1;
            n++;
        }
        last = repeats;
        dims[0][n - 1] *= dx;
        dims[1][n - 1] *= du;
        dims[2][n - 1] *= shape[i];
    }
    out->x = ferry_operand_make(FERRY_F32, dims[0], n, NULL);
    out->u = ferry_operand_make(FERRY_F32, dims[1], n, NULL);
    out->y = ferry_operand_make(FERRY_F32, dims[2], n, NULL);
    return true;
}

static int shape_top(ferry_layer *layer, struct operands *out)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *u = ferry_layer_bottom_at(layer, 1);
    int rank = ferry_blob_rank(x) > ferry_blob_rank(u) ? ferry_blob_rank(x) : ferry_blob_rank(u), i;
    int64_t shape[FERRY_MAX_AXES];

    for (i = 0; i < rank; i++) {
        int64_t dx = dim_of(x, i, rank), du = dim_of(u, i, rank);

        if (dx != du && dx != 1 && du != 1)
            return ferry__bottoms_differ(layer, 1, 0, "differ, and neither is 1 there");
        shape[i] = dx == 1 ? du : dx;
    }
    if (!make_operands(x, u, shape, rank, out))
        return ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                 "its bottoms are repeated by turns along more than %d axes",
                                 FERRY_OP_AXES);
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
}

/* ---- backward -------------------------------------------------------------------------------- */

static bool same_shape(const ferry_operand *a, const ferry_operand *b)
{
    return !memcmp(a->shape, b->shape, sizeof a->shape);
}

/*
 * Emits to = scale · the sums of function(a, b), which has y's shape, over the axes along which
 * `to` is broadcast.
 */
static int emit_sums(ferry_layer *layer, uint32_t function, double scale, struct ferry__term a,
                     struct ferry__term b, struct ferry__term to, const ferry_operand *y)
{
    struct ferry__term whole = { *y, ferry__diff(ferry__of_scratch(PRODUCT)) };
    int64_t count = ferry_blob_element_count(ferry_layer_top_at(layer, 0));
    int err;

    if (same_shape(&to.o, y) && scale == 1)
        return ferry__emit_binary(layer, function, 1, 1, a.o, a.at, b.o, b.at, to.o, to.at);
    if (!ferry_layer_scratch(layer, PRODUCT, 0, &count, 1))
        return ferry_last_error_code();
    err = ferry__emit_binary(layer, function, 1, 1, a.o, a.at, b.o, b.at, whole.o, whole.at);
    return err ? err : ferry__emit_sum(layer, scale, whole, to);
}

static int emit_backward(ferry_layer *layer, enum operation operation, const struct operands *o)
{
    const struct ferry__term dy = { o->y, ferry__diff(ferry__of_top(0)) };
    const struct ferry__term x = { o->x, ferry__of_bottom(0) }, u = { o->u, ferry__of_bottom(1) };
    const struct ferry__term dx = { o->x, ferry__diff(x.at) }, du = { o->u, ferry__diff(u.at) };
    struct ferry__term y = { o->y, ferry__of_top(0) };
    struct ferry__term product = { o->y, ferry__diff(ferry__of_scratch(PRODUCT)) };
    bool to_x = ferry_layer_propagates(layer, 0), to_u = ferry_layer_propagates(layer, 1);
    int64_t count = ferry_blob_element_count(ferry_layer_top_at(layer, 0));
    uint32_t function = operation == MULTIPLY ? FERRY_BINARY_PRODUCT : FERRY_BINARY_QUOTIENT;
    int err = 0;

    if (operation == ADD || operation == SUBTRACT) {
        err = to_x ? ferry__emit_sum(layer, 1, dy, dx) : 0;
        return err || !to_u ? err : ferry__emit_sum(layer, operation == ADD ? 1 : -1, dy, du);
    }
    if (to_x)
        err = emit_sums(layer, function, 1, dy, u, dx, &o->y);
    if (err || !to_u)
        return err;
    if (operation == MULTIPLY)
        return emit_sums(layer, function, 1, dy, x, du, &o->y);
    if (!ferry_layer_scratch(layer, PRODUCT, 0, &count, 1)) /* the gradient of u is −dy · y / u */
        return ferry_last_error_code();
    err = ferry__result_kept(layer, 0, PRODUCT + 1, &y.at);
    if (!err)
        err = ferry__emit_product(layer, dy, y, product);
    return err ? err : emit_sums(layer, function, -1, product, u, du, &o->y);
}

/* ---------------------------------------------------------------------------------------------- */

static int reshape(ferry_layer *layer)
{
    static const uint32_t functions[] = { FERRY_BINARY_SUM, FERRY_BINARY_SUM, FERRY_BINARY_PRODUCT,
                                          FERRY_BINARY_QUOTIENT };
    enum operation operation = operation_of(layer);
    struct operands o;
    int err = shape_top(layer, &o);

    if (!err)
        err = ferry__emit_binary(layer, functions[operation], 1, operation == SUBTRACT ? -1 : 1,
                                 o.x, ferry__of_bottom(0), o.u, ferry__of_bottom(1), o.y,
                                 ferry__of_top(0));
    return err || !ferry_layer_needs_backward(layer) ? err : emit_backward(layer, operation, &o);
}

static const char *const messages[] = { "binary_param", NULL };

const ferry_layer_type ferry__binary_layer = {
    .struct_size = sizeof ferry__binary_layer,
    .name = "Binary",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .reshape = reshape,
};
