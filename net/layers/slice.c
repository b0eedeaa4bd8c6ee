/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slice (slice_param): the bottom split along `axis` (1; slice_dim is its old name) at the
 * slice_points, or into equal parts. A single top shares the bottom. (Caffe: SliceLayer.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int axis_of(ferry_layer *layer, const ferry_proto *p, int *out)
{
    bool old = ferry_proto_value_count(p, "slice_dim") > 0;
    const char *field = old ? "slice_dim" : "axis";

    if (old && ferry_proto_value_count(p, "axis"))
        return ferry_proto_error(
            p, "slice_dim", 0, FERRY_EFORMAT,
            "layer \"%s\": slice_dim is the old name of axis; only one of them "
            "may be set",
            ferry_layer_name(layer));
    return ferry__axis_of(layer, p, field, ferry_proto_integer(p, field, 0),
                          ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), out);
}

/* The end of part k; −1, with an error, if the points are not ascending. */
static int64_t end_of(ferry_layer *layer, const ferry_proto *p, int k, int64_t size)
{
    int64_t points = ferry_proto_value_count(p, "slice_point"), end, before;
    int tops = ferry_layer_top_count(layer);

    if (k == tops - 1)
        return size;
    if (!points)
        return size / tops * (k + 1);
    end = ferry_proto_integer(p, "slice_point", k);
    before = k ? ferry_proto_integer(p, "slice_point", k - 1) : 0;
    if (end > before && end < size)
        return end;
    ferry_proto_error(p, "slice_point", k, FERRY_ESHAPE,
                      "layer \"%s\": slice_point %lld after %lld, the axis has %lld",
                      ferry_layer_name(layer), (long long)end, (long long)before, (long long)size);
    return -1;
}

static int parts_fit(ferry_layer *layer, const ferry_proto *p, int64_t size)
{
    int64_t points = ferry_proto_value_count(p, "slice_point");
    int tops = ferry_layer_top_count(layer);

    if (points && points != tops - 1)
        return ferry_proto_error(p, "slice_point", 0, FERRY_EFORMAT,
                                 "layer \"%s\": %lld points for %d tops", ferry_layer_name(layer),
                                 (long long)points, tops);
    if (!points && size % tops)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "an axis of %lld cannot be split into %d equal parts",
                                 (long long)size, tops);
    return 0;
}

static int cut(ferry_layer *layer, int axis, int k, int64_t from, int64_t end)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_layer_operand at = ferry__of_bottom(0);
    int64_t shape[32];
    ferry_operand part, y;
    int rank = ferry_blob_rank(bottom), i, err;

    for (i = 0; i < rank; i++)
        shape[i] = i == axis ? end - from : ferry_blob_dim(bottom, i);
    err = ferry_blob_reshape(ferry_layer_top_at(layer, k), shape, rank, NULL);
    if (err)
        return err;
    if (ferry_layer_top_count(layer) == 1)
        return ferry_layer_alias(layer, 0, 0);
    part = ferry__around(layer, ferry__of_bottom(0), axis);
    part.shape[1] = end - from;
    at.offset = from * part.stride[1];
    if (!ferry_blob_element_count(ferry_layer_top_at(layer, k)))
        return 0;
    y = ferry__around(layer, ferry__of_top(k), axis);
    err = ferry__emit_copy(layer, part, at, y, ferry__of_top(k));
    if (!err && ferry_layer_propagates(layer, 0))
        err = ferry__emit_copy(layer, y, ferry__diff(ferry__of_top(k)), part, ferry__diff(at));
    return err;
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "slice_param", 0);
    int64_t size, from = 0, end;
    int axis, k, err = axis_of(layer, p, &axis);

    if (err)
        return err;
    size = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), axis);
    err = parts_fit(layer, p, size);
    for (k = 0; !err && k < ferry_layer_top_count(layer); k++, from = end) {
        end = end_of(layer, p, k, size);
        err = end < 0 ? FERRY_ESHAPE : cut(layer, axis, k, from, end);
    }
    return err;
}

static const char *const messages[] = { "slice_param", NULL };

const ferry_layer_type ferry__slice_layer = {
    .struct_size = sizeof ferry__slice_layer,
    .name = "Slice",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = -1,
    .messages = messages,
    .reshape = reshape,
};
