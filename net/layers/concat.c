/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Concat (concat_param): the bottoms, concatenated along `axis` (1; concat_dim is its old name). A
 * single bottom is shared with the top. (Caffe: ConcatLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <stdio.h>

static int axis_of(ferry_layer *layer, int *out)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "concat_param", 0);
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0));
    bool old = ferry_proto_value_count(p, "concat_dim") > 0;
    const char *field = old ? "concat_dim" : "axis";

    if (old && ferry_proto_value_count(p, "axis"))
        return ferry_proto_error(p, "concat_dim", 0, FERRY_EFORMAT,
                                 "layer \"%s\": concat_dim is the old name of axis; only one of "
                                 "them may be set",
                                 ferry_layer_name(layer));
    return ferry__axis_of(layer, p, field, ferry_proto_integer(p, field, 0), rank, out);
}

static int shape_top(ferry_layer *layer, int axis)
{
    const ferry_blob *first = ferry_layer_bottom_at(layer, 0);
    int rank = ferry_blob_rank(first), i, k;
    int64_t shape[32];
    char differ[32];

    for (i = 0; i < rank; i++)
        shape[i] = ferry_blob_dim(first, i);
    for (k = 1; k < ferry_layer_bottom_count(layer); k++) {
        const ferry_blob *b = ferry_layer_bottom_at(layer, k);

        if (ferry_blob_rank(b) != rank)
            return ferry__bottoms_differ(layer, k, 0, "differ in the number of axes");
        for (i = 0; i < rank; i++)
            if (i != axis && ferry_blob_dim(b, i) != shape[i]) {
                snprintf(differ, sizeof differ, "differ in axis %d", i);
                return ferry__bottoms_differ(layer, k, 0, differ);
            }
        shape[axis] += ferry_blob_dim(b, axis);
    }
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
}

static int reshape(ferry_layer *layer)
{
    ferry_operand whole, part;
    int64_t from = 0;
    int axis, k, err = axis_of(layer, &axis);

    if (!err)
        err = shape_top(layer, axis);
    if (err)
        return err;
    if (ferry_layer_bottom_count(layer) == 1)
        return ferry_layer_alias(layer, 0, 0);
    whole = ferry__around(layer, ferry__of_top(0), axis);
    for (k = 0; !err && k < ferry_layer_bottom_count(layer); k++) {
        ferry_operand x = ferry__around(layer, ferry__of_bottom(k), axis);
        ferry_layer_operand to = ferry__of_top(0);

        part = whole;
        part.shape[1] = x.shape[1];
        to.offset = from * whole.stride[1];
        from += x.shape[1];
        if (!x.shape[0] || !x.shape[1] || !x.shape[2])
            continue;
        err = ferry__emit_copy(layer, x, ferry__of_bottom(k), part, to);
        if (!err && ferry_layer_propagates(layer, k))
            err =
                ferry__emit_copy(layer, part, ferry__diff(to), x, ferry__diff(ferry__of_bottom(k)));
    }
    return err;
}

static const char *const messages[] = { "concat_param", NULL };

const ferry_layer_type ferry__concat_layer = {
    .struct_size = sizeof ferry__concat_layer,
    .name = "Concat",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .messages = messages,
    .reshape = reshape,
};
