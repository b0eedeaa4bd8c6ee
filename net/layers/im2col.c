/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Im2col (convolution_param): the columns of a convolution, (N, C·kernel…, spatial'…). (Caffe:
 * Im2colLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

static int setup(ferry_layer *layer)
{
    ferry_op_window *w = ferry_layer_state(layer);
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "convolution_param", 0);
    int naxes = ferry_blob_naxes(ferry_layer_bottom(layer, 0)), axis, err;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0), naxes, &axis);
    if (err)
        return err;
    if (naxes - axis - 1 < 1 || naxes - axis - 1 > FERRY_OP_SPATIAL || axis != 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d spatial axes; 1 to %d fit",
                                 naxes - axis - 1, FERRY_OP_SPATIAL);
    w->group = 1;
    return ferry__window_read(layer, p, (uint32_t)(naxes - 2), w);
}

static int reshape(ferry_layer *layer)
{
    const ferry_op_window *w = ferry_layer_state(layer);
    const ferry_blob *bottom = ferry_layer_bottom(layer, 0);
    ferry_layer_operand in[1], out[1];
    int64_t dims[2 + FERRY_OP_SPATIAL];
    struct ferry__term dy;
    ferry_op op;
    uint32_t i;
    int err;

    if (ferry_blob_naxes(bottom) != (int)w->axes + 2)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottom has %d axes, %u fit",
                                 ferry_blob_naxes(bottom), w->axes + 2);
    dims[0] = ferry_blob_dim(bottom, 0);
    dims[1] = ferry_blob_dim(bottom, 1);
    for (i = 0; i < w->axes; i++) {
        dims[1] *= w->kernel[i];
        dims[2 + i] = ferry__window_slid(w, i, ferry_blob_dim(bottom, 2 + (int)i));
        if (dims[2 + i] < 1)
            return ferry_layer_error(layer, FERRY_ESHAPE, "its kernel of %lld does not fit on %lld",
                                     (long long)w->kernel[i],
                                     (long long)ferry_blob_dim(bottom, 2 + (int)i));
    }
    err = ferry_blob_reshape(ferry_layer_top(layer, 0), (int)w->axes + 2, dims, NULL);
    if (err)
        return err;
    ferry_op_init(&op, FERRY_OP_IM2COL);
    op.params.window = *w;
    ferry__op_in(&op, in, ferry__whole(layer, ferry__of_bottom(0)), ferry__of_bottom(0));
    ferry__op_out(&op, out, ferry__whole(layer, ferry__of_top(0)), ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    dy = ferry__term(layer, ferry__diff(ferry__of_top(0)));
    op.kind = FERRY_OP_COL2IM;
    return ferry__emit_pass(layer, &op, FERRY_PASS_FORWARD, 1, &dy,
                            ferry__term(layer, ferry__diff(ferry__of_bottom(0))));
}

static const char *const messages[] = { "convolution_param", NULL };

const ferry_layer_type ferry__im2col_layer = {
    .struct_size = sizeof ferry__im2col_layer,
    .name = "Im2col",
    .state_size = sizeof(ferry_op_window),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
};
