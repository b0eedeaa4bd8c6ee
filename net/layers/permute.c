/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Permute (permute_param): reorders the axes; those that `order` omits follow in their own order.
 * If the order is unchanged the top shares the bottom. (weiliu89's SSD: PermuteLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

/* The bottom's axis for each axis of the top. */
static int read_order(ferry_layer *layer, const ferry_proto *p, int *order, bool *out_same)
{
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), n = 0, i;
    int64_t given = ferry_proto_value_count(p, "order");
    uint64_t seen = 0;

    for (i = 0; i < given; i++) {
        int64_t axis = ferry_proto_integer(p, "order", i);

        if (axis < 0 || axis >= rank || seen >> axis & 1)
            return ferry_proto_error(p, "order", i, FERRY_ESHAPE,
                                     "layer \"%s\": axis %lld occurs twice or is not one of the "
                                     "bottom's %d axes",
                                     ferry_layer_name(layer), (long long)axis, rank);
        seen |= UINT64_C(1) << axis;
        order[n++] = (int)axis;
    }
    for (i = 0; i < rank; i++)
        if (!(seen >> i & 1))
            order[n++] = i;
    *out_same = true;
    for (i = 0; i < rank; i++)
        *out_same = *out_same && order[i] == i;
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "permute_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(bottom), order[32], i, err;
    int64_t shape[32];
    struct ferry__region r, back;
    int64_t step = 1;
    bool same = false;

    err = read_order(layer, p, order, &same);
    if (err)
        return err;
    for (i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(bottom, order[i]);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
    if (err)
        return err;
    if (same)
        return ferry_layer_alias(layer, 0, 0);
    r.axes = rank;
    for (i = rank; i-- > 0; step *= r.shape[i]) {
        r.shape[i] = shape[i];
        r.step_x[i] = ferry_blob_element_count_range(bottom, order[i] + 1, rank);
        r.step_y[i] = step;
    }
    err = ferry__emit_region(layer, &r, ferry__of_bottom(0), ferry__of_top(0), false);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    back = ferry__region_back(&r);
    return ferry__emit_region(layer, &back, ferry__diff(ferry__of_top(0)),
                              ferry__diff(ferry__of_bottom(0)), false);
}

static const char *const messages[] = { "permute_param", NULL };

const ferry_layer_type ferry__permute_layer = {
    .struct_size = sizeof ferry__permute_layer,
    .name = "Permute",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
