/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Axpy of SENet's fork: bottoms a (N × C …), x and y (N × C × H × W); top = a · x + y, with one a
 * for each channel of an image. (SENet: AxpyLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int emit_backward(ferry_layer *layer, ferry_operand image, ferry_operand factor)
{
    struct ferry__term dy = { image, ferry__diff(ferry__of_top(0)) };
    struct ferry__term a = { factor, ferry__of_bottom(0) }, x = { image, ferry__of_bottom(1) };
    struct ferry__term product = { image, ferry__diff(ferry__of_scratch(0)) };
    int err = 0;

    if (ferry_layer_propagates(layer, 0)) {
        if (!ferry_layer_scratch(layer, 0, 0, image.shape, 2))
            return ferry_last_error_code();
        err = ferry__emit_product(layer, dy, x, product);
        if (!err)
            err = ferry__emit_sum(layer, 1, product,
                                  (struct ferry__term){ factor, ferry__diff(a.at) });
    }
    if (!err && ferry_layer_propagates(layer, 1))
        err = ferry__emit_product(layer, dy, a, (struct ferry__term){ image, ferry__diff(x.at) });
    if (!err && ferry_layer_propagates(layer, 2))
        err = ferry__emit_scaled(layer, 1, dy,
                                 (struct ferry__term){ image, ferry__diff(ferry__of_bottom(2)) });
    return err;
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *a = ferry_layer_bottom_at(layer, 0), *x = ferry_layer_bottom_at(layer, 1);
    ferry_layer_operand in[3], out[1];
    ferry_operand image, factor;
    int64_t channels;
    ferry_op_desc op;
    int err;

    if (ferry_blob_rank(x) < 2 || ferry_blob_shape_equals(x, ferry_layer_bottom_at(layer, 2)) != 1)
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "bottoms 1 and 2 have %lld and %lld elements",
            (long long)ferry_blob_element_count(x),
            (long long)ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)));
    channels = ferry_blob_element_count_range(x, 0, 2);
    if (ferry_blob_element_count(a) != channels)
        return ferry_layer_error(layer, FERRY_ESHAPE, "bottom 0 has %lld factors, not %lld",
                                 (long long)ferry_blob_element_count(a), (long long)channels);
    err = ferry__top_like(layer, 0, x);
    if (err)
        return err;
    image = ferry_operand_make(
        FERRY_F32,
        (int64_t[]){ channels, ferry_blob_element_count_range(x, 2, ferry_blob_rank(x)) }, 2, NULL);
    factor = ferry_operand_make(FERRY_F32, (int64_t[]){ channels, 1 }, 2, NULL);
    ferry_op_desc_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SCALE;
    ferry__op_in(&op, in, image, ferry__of_bottom(1));
    ferry__op_in(&op, in, factor, ferry__of_bottom(0));
    ferry__op_in(&op, in, image, ferry__of_bottom(2));
    ferry__op_out(&op, out, image, ferry__of_top(0));
    err = ferry_layer_emit(layer, &op, in, out);
    return err || !ferry_layer_needs_backward(layer) ? err : emit_backward(layer, image, factor);
}

const ferry_layer_type ferry__axpy_layer = {
    .struct_size = sizeof ferry__axpy_layer,
    .name = "Axpy",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .reshape = reshape,
};
