/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * StridedSlice (strided_slice_param), ferry's own: takes the elements begin, begin + step (1), …
 * before `end` of each listed axis, and all elements of the other axes. Negative numbers count from
 * the end of the axis; numbers outside of the axis are clamped. (ONNX: Slice with positive steps.
 * Caffe's layer Slice divides a blob into several.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

static int64_t clamped(int64_t at, int64_t dim)
{
    if (at < 0)
        at = at < -dim ? 0 : at + dim;
    return at > dim ? dim : at;
}

/* Restricts a region, which covers all of the axis so far, to the elements of list entry `i`. */
static int cut(const ferry_layer *layer, const ferry_proto *p, int64_t i, struct ferry__region *r,
               int64_t *offset)
{
    int64_t begin = ferry_proto_integer(p, "begin", i), end = ferry_proto_integer(p, "end", i);
    int64_t step = ferry_proto_value_count(p, "step") ? ferry_proto_integer(p, "step", i) : 1;
    int axis,
        err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", i), r->axes, &axis);

    if (err)
        return err;
    if (step < 1 || step > INT32_MAX)
        return ferry_proto_error(p, "step", i, FERRY_EUNSUPPORTED, "layer \"%s\": a step of %lld",
                                 ferry_layer_name(layer), (long long)step);
    begin = clamped(begin, r->shape[axis]);
    end = clamped(end, r->shape[axis]);
    r->shape[axis] = end > begin ? (end - begin - 1) / step + 1 : 0;
    *offset += begin * r->step_x[axis];
    r->step_x[axis] *= step;
    return 0;
}

static int read_region(ferry_layer *layer, struct ferry__region *out, int64_t *out_offset)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "strided_slice_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t n = ferry_proto_value_count(p, "axis"), steps = ferry_proto_value_count(p, "step"), i;
    int err = 0;

    if (ferry_proto_value_count(p, "begin") != n || ferry_proto_value_count(p, "end") != n ||
        (steps && steps != n))
        return ferry_proto_error(p, "axis", 0, FERRY_EFORMAT,
                                 "layer \"%s\": begin, end or step is not given for each axis",
                                 ferry_layer_name(layer));
    out->axes = ferry_blob_rank(bottom);
    *out_offset = 0;
    for (i = 0; i < out->axes; i++) {
        out->shape[i] = ferry_blob_dim(bottom, (int)i);
        out->step_x[i] = ferry_blob_element_count_range(bottom, (int)i + 1, out->axes);
    }
    for (i = 0; !err && i < n; i++)
        err = cut(layer, p, i, out, out_offset);
    return err;
}

static int reshape(ferry_layer *layer)
{
    struct ferry__region r;
    int64_t offset = 0;
    int err = read_region(layer, &r, &offset);

    return err ? err : ferry__emit_cut(layer, &r, offset);
}

static const char *const messages[] = { "strided_slice_param", NULL };

const ferry_layer_type ferry__strided_slice_layer = {
    .struct_size = sizeof ferry__strided_slice_layer,
    .name = "StridedSlice",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .reshape = reshape,
};
