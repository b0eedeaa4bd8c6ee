/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Axpy of SENet's fork: bottoms a (N × C …), x and y (N × C × H × W); top = a · x + y, one a for each
 * channel of an image. (SENet: AxpyLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_blob *a = ferry_layer_bottom(layer, 0), *x = ferry_layer_bottom(layer, 1);
    ferry_layer_operand in[3], out[1];
    ferry_operand image, factor;
    int64_t channels;
    ferry_op op;
    int err;

    if (ferry_blob_naxes(x) < 2 || ferry_blob_shape_equals(x, ferry_layer_bottom(layer, 2)) != 1)
        return ferry_layer_error(layer, FERRY_ESHAPE, "bottoms 1 and 2 have %lld and %lld elements",
                                 (long long)ferry_blob_count(x),
                                 (long long)ferry_blob_count(ferry_layer_bottom(layer, 2)));
    channels = ferry_blob_count_range(x, 0, 2);
    if (ferry_blob_count(a) != channels)
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld factors for %lld channels",
                                 (long long)ferry_blob_count(a), (long long)channels);
    err = ferry__top_like(layer, 0, x);
    if (err)
        return err;
    image = ferry_operand_of(
        FERRY_F32, 2, (int64_t[]){ channels, ferry_blob_count_range(x, 2, ferry_blob_naxes(x)) },
        NULL);
    factor = ferry_operand_of(FERRY_F32, 2, (int64_t[]){ channels, 1 }, NULL);
    ferry_op_init(&op, FERRY_OP_BINARY);
    op.params.binary.function = FERRY_BINARY_SCALE;
    ferry__op_in(&op, in, image, ferry__of_bottom(1));
    ferry__op_in(&op, in, factor, ferry__of_bottom(0));
    ferry__op_in(&op, in, image, ferry__of_bottom(2));
    ferry__op_out(&op, out, image, ferry__of_top(0));
    return ferry_layer_emit(layer, &op, in, out);
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
