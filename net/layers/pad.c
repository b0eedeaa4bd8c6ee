/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pad (pad_param), ferry's own: `begin` and `end` elements around those of each axis. CONSTANT adds
 * the `value` (0), EDGE repeats the nearest element, REFLECT mirrors the elements at the edge. A
 * negative number, allowed for CONSTANT only, removes elements. (ONNX: Pad.)
 */
#include "net/layers/emit.h"

#include <ferry/status.h>

#include <string.h>

/* The maximum number of slices that EDGE and REFLECT copy, each by an operation. */
#define MOST_SLICES 4096

struct pad {
    bool edge, reflect;
    double value;
    int64_t begin[FERRY_MAX_AXES], end[FERRY_MAX_AXES];
};

static const ferry_proto *parameters_of(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "pad_param", 0);
}

static int setup(ferry_layer *layer)
{
    struct pad *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters_of(layer);
    const char *mode = ferry_proto_enum(p, "mode", 0);
    int rank = ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), i;

    if (ferry_proto_value_count(p, "begin") != rank || ferry_proto_value_count(p, "end") != rank)
        return ferry_proto_error(p, "begin", 0, FERRY_ESHAPE,
                                 "layer \"%s\": begin and end are not given for each of %d axes",
                                 ferry_layer_name(layer), rank);
    s->edge = !strcmp(mode, "EDGE");
    s->reflect = !strcmp(mode, "REFLECT");
    s->value = ferry_proto_real(p, "value", 0);
    for (i = 0; i < rank; i++) {
        s->begin[i] = ferry_proto_integer(p, "begin", i);
        s->end[i] = ferry_proto_integer(p, "end", i);
        if (s->begin[i] < -INT32_MAX || s->end[i] < -INT32_MAX || s->begin[i] > INT32_MAX ||
            s->end[i] > INT32_MAX ||
            ((s->edge || s->reflect) && (s->begin[i] < 0 || s->end[i] < 0)))
            return ferry_proto_error(
                p, "begin", i, FERRY_EFORMAT, "layer \"%s\": pads of %lld and %lld along axis %d",
                ferry_layer_name(layer), (long long)s->begin[i], (long long)s->end[i], i);
    }
    return 0;
}

/* Whether axis i has the elements that its pads repeat. */
static bool has_elements(const struct pad *s, int i, int64_t elements)
{
    if (s->begin[i] < 1 && s->end[i] < 1)
        return true;
    return s->reflect ? s->begin[i] < elements && s->end[i] < elements : !s->edge || elements > 0;
}

static int shape_top(ferry_layer *layer, const struct pad *s)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t shape[FERRY_MAX_AXES], slices = 0;
    int rank = ferry_blob_rank(bottom), i;

    for (i = 0; i < rank; i++) {
        shape[i] = ferry_blob_dim(bottom, i) + s->begin[i] + s->end[i];
        slices += s->begin[i] + s->end[i];
        if (shape[i] < 0 || !has_elements(s, i, ferry_blob_dim(bottom, i)))
            return ferry_layer_error(layer, FERRY_ESHAPE,
                                     "axis %d has %lld elements, too few for pads of %lld and %lld",
                                     i, (long long)ferry_blob_dim(bottom, i),
                                     (long long)s->begin[i], (long long)s->end[i]);
    }
    if ((s->edge || s->reflect) && slices > MOST_SLICES)
        return ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                 "pads of %lld elements, %d are the most", (long long)slices,
                                 MOST_SLICES);
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, rank, NULL);
}

/* The region that bottom and top have in common, and its offset in each of them. */
static struct ferry__region shared(const ferry_layer *layer, const struct pad *s, int64_t *out_from,
                                   int64_t *out_to)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *y = ferry_layer_top_at(layer, 0);
    struct ferry__region r = { .axes = ferry_blob_rank(x) };

    *out_from = *out_to = 0;
    for (int i = 0; i < r.axes; i++) {
        int64_t cut = s->begin[i] < 0 ? -s->begin[i] : 0, end = s->end[i] < 0 ? -s->end[i] : 0;

        r.shape[i] = ferry_blob_dim(x, i) - cut - end;
        if (r.shape[i] < 0)
            r.shape[i] = 0;
        r.step_x[i] = ferry_blob_element_count_range(x, i + 1, r.axes);
        r.step_y[i] = ferry_blob_element_count_range(y, i + 1, r.axes);
        *out_from += cut * r.step_x[i];
        *out_to += (s->begin[i] > 0 ? s->begin[i] : 0) * r.step_y[i];
    }
    return r;
}

/* Fills the top with the value. */
static int emit_value(ferry_layer *layer, double value)
{
    int err = ferry__emit_zeros(layer, ferry__of_top(0), 0);

    if (err || value == 0)
        return err;
    return ferry__emit_unary(layer, FERRY_UNARY_POWER, 1, 1, value, ferry__of_top(0),
                             ferry__of_top(0));
}

/*
 * Emits a copy of one slice of an axis to another. The axes before it have the top's size, and
 * those after it the bottom's.
 */
static int emit_slice(ferry_layer *layer, const struct pad *s, int axis, int64_t from, int64_t to)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *y = ferry_layer_top_at(layer, 0);
    ferry_layer_operand source = ferry__of_top(0), target = ferry__of_top(0);
    struct ferry__region r = { .axes = ferry_blob_rank(x) };

    for (int i = 0; i < r.axes; i++) {
        int64_t step = ferry_blob_element_count_range(y, i + 1, r.axes);

        r.shape[i] = i == axis ? 1 : ferry_blob_dim(i < axis ? y : x, i);
        r.step_x[i] = r.step_y[i] = step;
        source.offset += (i == axis ? from : i < axis ? 0 : s->begin[i]) * step;
        target.offset += (i == axis ? to : i < axis ? 0 : s->begin[i]) * step;
    }
    return ferry__emit_region(layer, &r, source, target, false);
}

static int emit_borders(ferry_layer *layer, const struct pad *s)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0);
    int err = 0;

    for (int axis = 0; axis < ferry_blob_rank(x); axis++) {
        int64_t first = s->begin[axis], last = first + ferry_blob_dim(x, axis) - 1, i;

        for (i = 1; !err && i <= s->begin[axis]; i++)
            err = emit_slice(layer, s, axis, s->reflect ? first + i : first, first - i);
        for (i = 1; !err && i <= s->end[axis]; i++)
            err = emit_slice(layer, s, axis, s->reflect ? last - i : last, last + i);
    }
    return err;
}

static int reshape(ferry_layer *layer)
{
    const struct pad *s = ferry_layer_state(layer);
    ferry_layer_operand from = ferry__of_bottom(0), to = ferry__of_top(0);
    struct ferry__region r, back;
    int err = shape_top(layer, s);

    if (err)
        return err;
    r = shared(layer, s, &from.offset, &to.offset);
    if (!s->edge && !s->reflect)
        err = emit_value(layer, s->value);
    if (!err)
        err = ferry__emit_region(layer, &r, from, to, false);
    if (!err && (s->edge || s->reflect))
        err = emit_borders(layer, s);
    if (err || !ferry_layer_propagates(layer, 0))
        return err;
    back = ferry__region_back(&r);
    err = ferry__emit_zeros(layer, ferry__diff(ferry__of_bottom(0)), 0);
    return err ? err : ferry__emit_region(layer, &back, ferry__diff(to), ferry__diff(from), false);
}

static const char *refuses(const ferry_layer *layer, int index)
{
    (void)index;
    return strcmp(ferry_proto_enum(parameters_of(layer), "mode", 0), "CONSTANT")
               ? " has a gradient of CONSTANT only"
               : NULL;
}

static const char *const messages[] = { "pad_param", NULL };

const ferry_layer_type ferry__pad_layer = {
    .struct_size = sizeof ferry__pad_layer,
    .name = "Pad",
    .state_size = sizeof(struct pad),
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_EMPTY_BACKWARD,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .refuses = refuses,
};
