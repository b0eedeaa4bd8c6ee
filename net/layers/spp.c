/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SPP (spp_param): level i of pyramid_height pools planes into 2^i × 2^i bins by MAX or AVE; the
 * levels' values are concatenated along axis 1. A single level keeps its axes. (Caffe: SPPLayer,
 * whose windows are padded to cover the plane.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

#define LEVELS 16

/* The scratch blobs: one for each level, their masks, a level's gradient. */
enum { MASKS = LEVELS, PART = 2 * LEVELS };

/*
 * The window of a level; *out_bins is the number of bins on each axis, as Caffe's pooling computes
 * it.
 */
static int window_of(const ferry_layer *layer, int level, ferry_op_desc *op, int64_t bins_of[2])
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_op_window *w = &op->params.window;
    int64_t bins = INT64_C(1) << level;
    int i;

    for (i = 0; i < 2; i++) {
        int64_t in = ferry_blob_dim(bottom, 2 + i), kernel = (in + bins - 1) / bins;
        int64_t pad = (kernel * bins - in + 1) / 2;

        if (in < 1 || pad >= kernel)
            return ferry_layer_error(layer, FERRY_ESHAPE,
                                     "%lld elements are too few for level %d of its pyramid",
                                     (long long)in, level);
        w->kernel[i] = w->stride[i] = kernel;
        w->pad[i] = w->pad_end[i] = pad;
    }
    for (i = 0; i < 2; i++) {
        int64_t in = ferry_blob_dim(bottom, 2 + i), k = w->kernel[i];

        bins_of[i] = (in + 2 * w->pad[i] - k + k - 1) / k + 1;
        if ((w->pad[0] || w->pad[1]) && (bins_of[i] - 1) * k >= in + w->pad[i])
            bins_of[i]--;
    }
    return 0;
}

/* Describes the pooling of a level, and the shape of its result. */
static int describe(const ferry_layer *layer, int level, bool average, ferry_op_desc *op,
                    int64_t shape[4])
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);

    ferry_op_desc_init(op, FERRY_OP_POOL);
    op->params.pool.method = average ? FERRY_POOL_AVERAGE : FERRY_POOL_MAX;
    op->params.window.axes = 2;
    shape[0] = ferry_blob_dim(bottom, 0);
    shape[1] = ferry_blob_dim(bottom, 1);
    return window_of(layer, level, op, &shape[2]);
}

/* Emits a level's contribution to the bottom's gradient, from the gradient of `y`. */
static int emit_backward(ferry_layer *layer, int level, bool average, ferry_layer_operand y)
{
    struct ferry__term dx = ferry__term(layer, ferry__diff(ferry__of_bottom(0))), part = dx, in[2];
    int64_t shape[4];
    ferry_op_desc op;
    int err = describe(layer, level, average, &op, shape);

    part.at = level ? ferry__diff(ferry__of_scratch(PART)) : dx.at;
    if (!err && level && !ferry_layer_scratch(layer, PART, 0, dx.o.shape, 4))
        err = ferry_last_error_code();
    if (err)
        return err;
    in[0] = ferry__term(layer, ferry__diff(y));
    in[1] = (struct ferry__term){ in[0].o, ferry__of_scratch(MASKS + level) };
    err = ferry__emit_pass(layer, &op, FERRY_PASS_BACKWARD_DATA, average ? 1 : 2, in, part);
    return err || !level ? err
                         : ferry__emit_binary(layer, FERRY_BINARY_SUM, 1, 1, dx.o, dx.at, part.o,
                                              part.at, dx.o, dx.at);
}

/* Pools a level into scratch blob `level`, or into the top. */
static int emit_level(ferry_layer *layer, int level, bool average, bool alone)
{
    ferry_layer_operand to = alone ? ferry__of_top(0) : ferry__of_scratch(level), in[1], out[2];
    bool masked = !average && ferry_layer_propagates(layer, 0);
    int64_t shape[4];
    ferry_op_desc op;
    int err = describe(layer, level, average, &op, shape);

    if (err)
        return err;
    if (alone)
        err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 4, NULL);
    else if (!ferry_layer_scratch(layer, level, 0, shape, 4))
        err = ferry_last_error_code();
    if (!err && masked && !ferry_layer_scratch(layer, MASKS + level, 1, shape, 4))
        err = ferry_last_error_code();
    if (err)
        return err;
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_bottom(0)), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__whole(layer, to), to);
    if (masked)
        ferry__op_out(&op, out, ferry__whole(layer, to), ferry__of_scratch(MASKS + level));
    return ferry_layer_emit(layer, &op, in, out);
}

/* Concatenates the levels, and splits their gradients. */
static int join(ferry_layer *layer, int levels, bool average)
{
    int64_t images = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 0), wide = 0, at = 0;
    bool propagates = ferry_layer_propagates(layer, 0);
    int i, err;

    for (i = 0; i < levels; i++)
        wide += ferry_blob_element_count_range(ferry_layer_scratch_at(layer, i), 1, 4);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), (int64_t[]){ images, wide }, 2, NULL);
    for (i = 0; !err && i < levels; i++) {
        int64_t own = ferry_blob_element_count_range(ferry_layer_scratch_at(layer, i), 1, 4);
        ferry_operand x = ferry_operand_make(FERRY_F32, (int64_t[]){ images, own }, 2, NULL), y = x;
        ferry_layer_operand level = ferry__of_scratch(i), to = ferry__of_top(0);

        y.stride[0] = wide;
        to.offset = at;
        err = ferry__emit_copy(layer, x, level, y, to);
        if (!err && propagates)
            err = ferry__emit_copy(layer, y, ferry__diff(to), x, ferry__diff(level));
        if (!err && propagates)
            err = emit_backward(layer, i, average, level);
        at += own;
    }
    return err;
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "spp_param", 0);
    int64_t levels = ferry_proto_integer(p, "pyramid_height", 0);
    const char *method = ferry_proto_enum(p, "pool", 0);
    bool average = !strcmp(method, "AVE");
    int i, err = 0;

    if (ferry_blob_rank(ferry_layer_bottom_at(layer, 0)) != 4)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, not 4",
                                 ferry_blob_rank(ferry_layer_bottom_at(layer, 0)));
    if (levels < 1 || levels > LEVELS)
        return ferry_proto_error(p, "pyramid_height", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a pyramid_height of %lld; 1 to %d are supported",
                                 ferry_layer_name(layer), (long long)levels, LEVELS);
    if (strcmp(method, "MAX") && strcmp(method, "AVE"))
        return ferry_proto_error(p, "pool", 0, FERRY_EUNSUPPORTED,
                                 "layer \"%s\": %s pooling is random; MAX and AVE are supported",
                                 ferry_layer_name(layer), method);
    for (i = 0; !err && i < levels; i++)
        err = emit_level(layer, i, average, levels == 1);
    if (err || levels > 1)
        return err ? err : join(layer, (int)levels, average);
    return ferry_layer_propagates(layer, 0) ? emit_backward(layer, 0, average, ferry__of_top(0))
                                            : 0;
}

static const char *const messages[] = { "spp_param", NULL };

const ferry_layer_type ferry__spp_layer = {
    .struct_size = sizeof ferry__spp_layer,
    .name = "SPP",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
