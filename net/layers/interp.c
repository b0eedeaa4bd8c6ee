/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interp (interp_param) of DeepLab's fork: bilinear interpolation with aligned corners, from the
 * bottom (cropped by pad_beg and pad_end, which are negative) to height × width, or to the size
 * that results from shrink_factor and then zoom_factor. (DeepLab: InterpLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

/* The output size of an axis with `in` elements. */
static int64_t made_of(const ferry_proto *p, const char *size, int64_t in)
{
    int64_t shrink = ferry_proto_integer(p, "shrink_factor", 0);
    int64_t zoom = ferry_proto_integer(p, "zoom_factor", 0);

    if (ferry_proto_value_count(p, size))
        return ferry_proto_integer(p, size, 0);
    if (shrink < 1 || zoom < 1 || in < 1)
        return 0;
    in = (in - 1) / shrink + 1;
    return in + (in - 1) * (zoom - 1);
}

static int emit(ferry_layer *layer, int64_t cut, int64_t h, int64_t w)
{
    ferry_operand whole = ferry__whole(layer, ferry__of_bottom(0)), x = whole;
    ferry_layer_operand from = ferry__of_bottom(0), in[1], out[1];
    struct ferry__term dy;
    ferry_op_desc op;
    int err;

    x.shape[2] = h;
    x.shape[3] = w;
    from.offset = cut * (whole.shape[3] + 1);
    ferry_op_desc_init(&op, FERRY_OP_RESIZE);
    op.params.resize.method = FERRY_RESIZE_BILINEAR;
    op.params.resize.sampling = FERRY_RESIZE_ALIGN_CORNERS;
    ferry__op_in(&op, in, x, from);
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    if (h != whole.shape[2] || w != whole.shape[3])
        err = ferry__emit_zeros(layer, ferry__diff(ferry__of_bottom(0)), 0);
    dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    return err ? err
               : ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, 1, &dy,
                                  (struct ferry__term){ x, ferry__diff(from) });
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "interp_param", 0);
    int64_t first = ferry_proto_integer(p, "pad_beg", 0),
            last = ferry_proto_integer(p, "pad_end", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[4], h, w;
    int err;

    if (ferry_blob_rank(bottom) != 4)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, not 4",
                                 ferry_blob_rank(bottom));
    if (first > 0 || last > 0)
        return ferry_proto_error(p, first > 0 ? "pad_beg" : "pad_end", 0, FERRY_EFORMAT,
                                 "layer \"%s\": pads of %lld and %lld; pads must not be positive",
                                 ferry_layer_name(layer), (long long)first, (long long)last);
    shape[0] = ferry_blob_dim(bottom, 0);
    shape[1] = ferry_blob_dim(bottom, 1);
    h = ferry_blob_dim(bottom, 2) + first + last;
    w = ferry_blob_dim(bottom, 3) + first + last;
    shape[2] = made_of(p, "height", h);
    shape[3] = made_of(p, "width", w);
    if (h < 1 || w < 1 || shape[2] < 1 || shape[3] < 1)
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "cannot interpolate to %lld × %lld from %lld × %lld",
            (long long)shape[2], (long long)shape[3], (long long)h, (long long)w);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 4, NULL);
    return err ? err : emit(layer, -first, h, w);
}

static const char *const messages[] = { "interp_param", NULL };

const ferry_layer_type ferry__interp_layer = {
    .struct_size = sizeof ferry__interp_layer,
    .name = "Interp",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
