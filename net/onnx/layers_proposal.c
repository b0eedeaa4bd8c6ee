/* SPDX-License-Identifier: BSD-2-Clause */
/* Proposal with standard operators: anchors are constants, TopK and NonMaxSuppression select. */
#include "net/onnx/layers.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct proposal {
    const ferry_proto *p;
    int64_t stride, base, before, after, ratios, scales, anchors, height, width, count;
};

static double value_of(const struct proposal *s, const char *field, int64_t i, const double *usual)
{
    return ferry_proto_value_count(s->p, field) ? ferry_proto_real(s->p, field, i) : usual[i];
}

/* Width and height of anchor `a`. */
static void size_of(const struct proposal *s, int64_t a, double size[2])
{
    static const double ratios[] = { 0.5, 1, 2 }, scales[] = { 8, 16, 32 };
    double ratio = value_of(s, "ratio", a / s->scales, ratios);
    double scale = value_of(s, "scale", a % s->scales, scales);
    double wide = rint(sqrt((double)s->base * (double)s->base / ratio));

    size[0] = wide * scale;
    size[1] = rint(wide * ratio) * scale;
}

/* The centres (x or y) or the sizes of all anchors: 1 × count. */
static int anchor_values(struct ferry__onnx *o, const struct proposal *s, int axis, bool sizes)
{
    float *values = ferry__onnx_alloc(o, (size_t)s->count * sizeof *values);
    double middle = 0.5 * (double)(s->base - 1) + 0.5, size[2];
    int64_t i;

    for (i = 0; values && i < s->count; i++) {
        int64_t place = i / s->anchors, at = axis ? place / s->width : place % s->width;

        size_of(s, i % s->anchors, size);
        values[i] = (float)(sizes ? size[axis] : middle + (double)(at * s->stride));
    }
    return values ? ferry__onnx_floats(o, 2, (int64_t[]){ 1, s->count }, values) : 0;
}

/* The image's height, width or scale, for i = 0, 1, 2. */
static int image_value(struct ferry__onnx *o, int64_t i)
{
    int all =
        ONNX_OP(o, "Reshape", ferry__onnx_bottom(o, 2), ferry__onnx_ints(o, 1, &(int64_t){ -1 }));

    return ferry__onnx_slice_of(o, all, 0, i, i + 1);
}

/* The lower and the upper corners along an axis, clipped to the image: 1 × count each. */
static void corners(struct ferry__onnx *o, const struct proposal *s, int deltas, int axis,
                    int out[2])
{
    int64_t flat[2] = { 1, s->count };
    int size = anchor_values(o, s, axis, true), centre = anchor_values(o, s, axis, false), half, i;
    int shift = ferry__onnx_slice_of(o, deltas, 2, axis, axis + 1);
    int stretch = ferry__onnx_slice_of(o, deltas, 2, 2 + axis, 3 + axis);
    int most = ferry__onnx_scaled(o, image_value(o, 1 - axis), 1, -1);

    shift = ferry__onnx_reshape_to(o, shift, 2, flat);
    stretch = ferry__onnx_reshape_to(o, stretch, 2, flat);
    centre = ONNX_OP(o, "Add", centre, ONNX_OP(o, "Mul", shift, size));
    half = ferry__onnx_scaled(o, ONNX_OP(o, "Mul", ONNX_OP(o, "Exp", stretch), size), 0.5, 0);
    for (i = 0; i < 2; i++) {
        out[i] = ONNX_OP(o, i ? "Add" : "Sub", centre, half);
        out[i] = ONNX_OP(o, "Max", out[i], ferry__onnx_float(o, 0));
        out[i] = ONNX_OP(o, "Min", out[i], most);
    }
}

/* The scores, with −FLT_MAX for regions that are too small: 1 × count. */
static int scores_of(struct ferry__onnx *o, const struct proposal *s, const int x[2],
                     const int y[2])
{
    double least = ferry_proto_real(s->p, "min_size", 0);
    int limit = ferry__onnx_scaled(o, image_value(o, 2), least, 0), small[2], scores;

    small[0] =
        ONNX_OP(o, "Less", ferry__onnx_scaled(o, ONNX_OP(o, "Sub", x[1], x[0]), 1, 1), limit);
    small[1] =
        ONNX_OP(o, "Less", ferry__onnx_scaled(o, ONNX_OP(o, "Sub", y[1], y[0]), 1, 1), limit);
    scores = ferry__onnx_slice_of(o, ferry__onnx_bottom(o, 0), 1, s->anchors, 2 * s->anchors);
    scores = ferry__onnx_transpose(o, scores, 4, (int64_t[]){ 0, 2, 3, 1 });
    scores = ferry__onnx_reshape_to(o, scores, 2, (int64_t[]){ 1, s->count });
    return ONNX_OP(o, "Where", ONNX_OP(o, "Or", small[0], small[1]), ferry__onnx_float(o, -FLT_MAX),
                   scores);
}

/* The first `after` rows of x, padded with zeros; x is rows × columns. */
static int with_zeros(struct ferry__onnx *o, const struct proposal *s, int x, int64_t columns)
{
    int64_t dims[2] = { s->after, columns };

    x = ferry__onnx_concat_of(o, 0, 2, (int[]){ x, ferry__onnx_filled(o, 0, 2, dims) });
    return ferry__onnx_slice_of(o, x, 0, 0, s->after);
}

/*
 * Adds the suppression, which returns indices of boxes, best first. Caffe's boxes include both
 * ends, so 1 is added to the far end.
 */
static int suppress(struct ferry__onnx *o, const struct proposal *s, int boxes, int scores,
                    int64_t n)
{
    const float ends[4] = { 0, 0, 1, 1 }, least = -FLT_MAX;
    float limit = (float)ferry_proto_real(s->p, "nms_thresh", 0);
    int64_t dims[3] = { 1, 1, n }, one = 1;
    int whole = ONNX_OP(o, "Add", boxes, ferry__onnx_floats(o, 1, &(int64_t){ 4 }, ends)), chosen;

    whole = ferry__onnx_unsqueeze(o, whole, 1, &(int64_t){ 0 });
    chosen = ONNX_OP(o, "NonMaxSuppression", whole, ferry__onnx_reshape_to(o, scores, 3, dims),
                     ferry__onnx_ints(o, 1, &s->after), ferry__onnx_floats(o, 1, &one, &limit),
                     ferry__onnx_floats(o, 1, &one, &least));
    chosen = ferry__onnx_slice_of(o, chosen, 1, 2, 3);
    return ONNX_OP(o, "Reshape", chosen, ferry__onnx_ints(o, 1, &(int64_t){ -1 }));
}

static void read_proposal(const ferry_layer *layer, struct proposal *s)
{
    const ferry_blob *scores = ferry_layer_bottom_at(layer, 0);
    const ferry_proto *p = ferry__onnx_message(layer, "proposal_param");

    s->p = p;
    s->stride = ferry_proto_integer(p, "feat_stride", 0);
    s->base = ferry_proto_integer(p, "base_size", 0);
    s->before = ferry_proto_integer(p, "pre_nms_topn", 0);
    s->after = ferry_proto_integer(p, "post_nms_topn", 0);
    s->ratios = ferry_proto_value_count(p, "ratio") ? ferry_proto_value_count(p, "ratio") : 3;
    s->scales = ferry_proto_value_count(p, "scale") ? ferry_proto_value_count(p, "scale") : 3;
    s->anchors = s->ratios * s->scales;
    s->height = ferry_blob_dim(scores, 2);
    s->width = ferry_blob_dim(scores, 3);
    s->count = s->anchors * s->height * s->width;
}

void ferry__onnx_proposal(struct ferry__onnx *o)
{
    struct proposal s;
    int x[2], y[2], deltas, scores, boxes, index, best, columns[2];
    int64_t n, flat = -1;

    read_proposal(o->layer, &s);
    n = s.before < s.count ? s.before : s.count;
    deltas = ferry__onnx_reshape_to(o, ferry__onnx_bottom(o, 1), 3,
                                    (int64_t[]){ s.anchors, 4, s.height * s.width });
    deltas = ferry__onnx_transpose(o, deltas, 3, (int64_t[]){ 2, 0, 1 });
    corners(o, &s, deltas, 0, x);
    corners(o, &s, deltas, 1, y);
    scores = scores_of(o, &s, x, y);
    boxes = ferry__onnx_concat_of(o, 0, 4, (int[]){ x[0], y[0], x[1], y[1] });
    boxes = ferry__onnx_transpose(o, boxes, 2, (int64_t[]){ 1, 0 });
    scores = ferry__onnx_top_k(o, scores, ferry__onnx_ints(o, 1, &n), 1, &best);
    best = ONNX_OP(o, "Reshape", best, ferry__onnx_ints(o, 1, &flat));
    boxes = ferry__onnx_gather(o, boxes, best, 0);
    index = suppress(o, &s, boxes, scores, n);
    boxes = ferry__onnx_gather(o, boxes, index, 0);
    columns[0] = ferry__onnx_scaled(o, ferry__onnx_slice_of(o, boxes, 1, 0, 1), 0, 0);
    columns[1] = boxes;
    ferry__onnx_top(o, 0, with_zeros(o, &s, ferry__onnx_concat_of(o, 1, 2, columns), 5));
    scores = ONNX_OP(o, "Reshape", scores, ferry__onnx_ints(o, 1, &flat));
    scores = ferry__onnx_unsqueeze(o, ferry__onnx_gather(o, scores, index, 0), 1, &(int64_t){ 1 });
    ferry__onnx_top(o, 1, with_zeros(o, &s, scores, 1));
}
