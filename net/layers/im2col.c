/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Im2col (convolution_param): the columns of a convolution, (N, C·kernel…, spatial'…). (Caffe:
 * Im2colLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

struct im2col {
    struct ferry__window window;
    int axis; /* the channel axis */
};

static int setup(ferry_layer *layer)
{
    struct im2col *s = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "convolution_param", 0);
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), err;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), rank, &s->axis);
    if (err)
        return err;
    if (rank - s->axis < 2)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "its bottom has no spatial axes; at least 1 is required");
    return ferry__window_read(layer, p, (uint32_t)(rank - s->axis - 1), &s->window);
}

static int shape_top(ferry_layer *layer, const struct im2col *s, int64_t taps)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), i;
    int64_t shape[FERRY_MAX_AXES];

    for (i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(bottom, i);
    if (__builtin_mul_overflow(shape[s->axis], taps, &shape[s->axis]))
        return ferry_layer_error(layer, FERRY_EOVERFLOW, "%lld taps do not fit 63 bits",
                                 (long long)taps);
    for (i = s->axis + 1; i < rank; i++) {
        uint32_t axis = (uint32_t)(i - s->axis - 1);

        shape[i] = ferry__window_slid(&s->window, axis, shape[i]);
        if (shape[i] < 1)
            return ferry_layer_error(layer, FERRY_ESHAPE, "its kernel of %lld does not fit on %lld",
                                     (long long)s->window.kernel[axis],
                                     (long long)ferry_blob_dim(bottom, i));
    }
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
}

/* A blob as an operand: the axes before the channels merged into one, then the others. */
static ferry_operand images(const ferry_blob *b, const struct im2col *s)
{
    int64_t shape[2 + FERRY_OP_SPATIAL];
    uint32_t i;

    shape[0] = ferry_blob_element_count_range(b, 0, s->axis);
    for (i = 0; i <= s->window.axes; i++)
        shape[1 + i] = ferry_blob_dim(b, s->axis + (int)i);
    return ferry_operand_make(FERRY_F32, shape, 2 + (int)s->window.axes, NULL);
}

static int emit(ferry_layer *layer, const struct im2col *s)
{
    struct ferry__term x = { images(ferry_layer_bottom_at(layer, 0), s), ferry__of_bottom(0) };
    struct ferry__term y = { images(ferry_layer_top_at(layer, 0), s), ferry__of_top(0) };
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_IM2COL);
    op.params.window = ferry__window_of(&s->window);
    err = ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 1, &x, y);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    x.at.diff = y.at.diff = 1;
    op.kind = FERRY_OP_COL2IM;
    return ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 1, &y, x);
}

static int emit_wide(ferry_layer *layer, const struct im2col *s)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0), *top = ferry_layer_top_at(layer, 0);
    struct ferry__columns c = { .window = &s->window };
    uint32_t i;
    int err;

    c.planes = ferry_blob_element_count_range(bottom, 0, s->axis + 1);
    for (i = 0; i < s->window.axes; i++) {
        c.wide[i] = ferry_blob_dim(bottom, s->axis + 1 + (int)i);
        c.narrow[i] = ferry_blob_dim(top, s->axis + 1 + (int)i);
    }
    err = ferry__emit_columns(layer, &c, ferry__of_bottom(0), ferry__of_top(0), 0);
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_image(layer, &c, ferry__diff(ferry__of_top(0)),
                                ferry__diff(ferry__of_bottom(0)), 0);
    return err;
}

static int reshape(ferry_layer *layer)
{
    const struct im2col *s = ferry_layer_state(layer);
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), err;
    int64_t taps = ferry__columns_taps(layer, &s->window);

    if (taps < 0)
        return (int)taps;
    if (rank != s->axis + 1 + (int)s->window.axes)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, not %d", rank,
                                 s->axis + 1 + (int)s->window.axes);
    err = shape_top(layer, s, taps);
    if (err)
        return err;
    return s->window.axes <= FERRY_OP_SPATIAL ? emit(layer, s) : emit_wide(layer, s);
}

static const char *const messages[] = { "convolution_param", NULL };

const ferry_layer_type ferry__im2col_layer = {
    .struct_size = sizeof ferry__im2col_layer,
    .name = "Im2col",
    .state_size = sizeof(struct im2col),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
