/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Upsample (upsample_param): two layers with one name. With one bottom (YOLO's forks) each element
 * is repeated scale × scale times. With two (SegNet's and ENet's) the second is the mask of a max
 * pooling, and each element is written to the position in the mask, in a plane of upsample_h ×
 * upsample_w, or of scale times the bottom's sides, minus one with pad_out_h or pad_out_w; the rest
 * is 0. (SegNet: UpsampleLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

/* The height or width of the output plane. */
static int64_t side(const ferry_layer *layer, int axis, const char *size, const char *scale,
                    const char *pad)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "upsample_param", 0);
    int64_t factor = ferry_proto_integer(p, ferry_proto_value_count(p, scale) ? scale : "scale", 0);

    if (ferry_proto_value_count(p, size))
        return ferry_proto_integer(p, size, 0);
    return ferry_blob_dim(ferry_layer_bottom_at(layer, 0), axis) * factor -
           ferry_proto_boolean(p, pad, 0);
}

static int emit_nearest(ferry_layer *layer)
{
    ferry_layer_operand in[1], out[1];
    struct ferry__term dy;
    ferry_op_desc op;
    int err;

    ferry_op_desc_init(&op, FERRY_OP_RESIZE);
    op.params.resize.method = FERRY_RESIZE_NEAREST;
    op.params.resize.sampling = FERRY_RESIZE_ASYMMETRIC;
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_bottom(0)), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    return ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 1, &dy,
                            ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    bool masked = ferry_layer_bottom_count(layer) > 1;
    int64_t shape[4];
    int err;

    if (ferry_blob_rank(bottom) != 4)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, not 4",
                                 ferry_blob_rank(bottom));
    if (masked && ferry_blob_shape_equals(bottom, ferry_layer_bottom_at(layer, 1)) != 1)
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "its mask has %lld elements, its bottom %lld",
            (long long)ferry_blob_element_count(ferry_layer_bottom_at(layer, 1)),
            (long long)ferry_blob_element_count(bottom));
    shape[0] = ferry_blob_dim(bottom, 0);
    shape[1] = ferry_blob_dim(bottom, 1);
    shape[2] = side(layer, 2, "upsample_h", "scale_h", "pad_out_h");
    shape[3] = side(layer, 3, "upsample_w", "scale_w", "pad_out_w");
    if (shape[2] < 1 || shape[3] < 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its top would be %lld × %lld",
                                 (long long)shape[2], (long long)shape[3]);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 4, NULL);
    return err || masked ? err : emit_nearest(layer);
}

/* Scatters one plane of `n` elements by its mask into a plane of `wide`. */
static int scatter(const ferry_layer *layer, const float *x, const float *mask, int64_t n, float *y,
                   int64_t wide)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        if (!(mask[i] > -1) || !(mask[i] < (float)wide))
            return ferry_layer_error(layer, FERRY_EINVAL,
                                     "its mask points at %g in a plane of %lld elements",
                                     (double)mask[i], (long long)wide);
        y[(int64_t)mask[i]] = x[i];
    }
    return 0;
}

static int forward(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0), *top = ferry_layer_top_at(layer, 0);
    int64_t planes = ferry_blob_element_count_range(bottom, 0, 2),
            n = ferry_blob_element_count_range(bottom, 2, 4);
    int64_t wide = ferry_blob_element_count_range(top, 2, 4), i;
    const float *x, *mask;
    float *y;
    int err = 0;

    if (ferry_layer_bottom_count(layer) == 1)
        return 0;
    x = ferry_blob_host_data(bottom);
    mask = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    y = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));
    if (!x || !mask || !y)
        return ferry_last_error_code();
    memset(y, 0, (size_t)(planes * wide) * sizeof *y);
    for (i = 0; !err && i < planes; i++)
        err = scatter(layer, &x[i * n], &mask[i * n], n, &y[i * wide], wide);
    return err;
}

/*
 * Writes the gradient: each element gets the top's gradient at its position in the mask, which
 * forward has checked.
 */
static int backward(ferry_layer *layer)
{
    ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    const ferry_blob *top = ferry_layer_top_at(layer, 0);
    int64_t planes = ferry_blob_element_count_range(bottom, 0, 2),
            n = ferry_blob_element_count_range(bottom, 2, 4);
    int64_t wide = ferry_blob_element_count_range(top, 2, 4), i;
    const float *mask, *dy;
    float *dx;

    if (ferry_layer_bottom_count(layer) == 1 || !ferry_layer_propagates(layer, 0))
        return 0;
    mask = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    dy = ferry_blob_host_diff(top);
    dx = ferry_blob_overwrite_host_diff(bottom);
    if (!mask || !dy || !dx)
        return ferry_last_error_code();
    for (i = 0; i < planes * n; i++)
        dx[i] = mask[i] > -1 && mask[i] < (float)wide ? dy[i / n * wide + (int64_t)mask[i]] : 0;
    return 0;
}

static const char *refuses(const ferry_layer *layer, int index)
{
    (void)layer;
    return index ? "Layer: a mask cannot be differentiated." : NULL;
}

static const char *const messages[] = { "upsample_param", NULL };

const ferry_layer_type ferry__upsample_layer = {
    .struct_size = sizeof ferry__upsample_layer,
    .name = "Upsample",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
    .refuses = refuses,
};
