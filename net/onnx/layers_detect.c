/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DetectionOutput with standard operators: boxes are decoded arithmetically, TopK keeps top_k of
 * each class, and NonMaxSuppression selects. The graph processes one image after the other.
 * NonMaxSuppression returns the classes in order, each with the best box first, which is Caffe's
 * order.
 */
#include "net/onnx/layers.h"

#include <float.h>
#include <string.h>

struct detection {
    int64_t images, priors, classes, location_classes, background, top_k, keep;
    const ferry_proto *p;
};

/* Takes a column of boxes or variances: index i of axis `axis`, which keeps length 1. */
static int column(struct ferry__onnx *o, int x, int axis, int64_t i)
{
    return ferry__onnx_slice_of(o, x, axis, i, i + 1);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* Values derived from priors: corners, sizes, centres and variances, each 1 × priors × 1. */
struct priors {
    int corner[4], size[2], centre[2], variance[4];
};

static void read_priors(struct ferry__onnx *o, const struct detection *d, struct priors *out)
{
    int64_t dims[3] = { 2, d->priors, 4 };
    int both = ONNX_OP(o, "Reshape", ferry__onnx_bottom(o, 2), ferry__onnx_ints(o, 3, dims)), i;
    int boxes = column(o, both, 0, 0), variances = column(o, both, 0, 1);

    for (i = 0; i < 4; i++) {
        out->corner[i] = column(o, boxes, 2, i);
        out->variance[i] = column(o, variances, 2, i);
    }
    for (i = 0; i < 2; i++) {
        out->size[i] = ONNX_OP(o, "Sub", out->corner[2 + i], out->corner[i]);
        out->centre[i] = ONNX_OP(o, "Add", out->corner[i], out->corner[2 + i]);
        out->centre[i] = ferry__onnx_scaled(o, out->centre[i], 0.5, 0);
    }
}

/* Decodes corner i for CENTER_SIZE, from the centre's shifts and the logarithms of the sizes. */
static int corner_by_centre(struct ferry__onnx *o, const struct priors *s, const int v[4], int i)
{
    int axis = i % 2;
    int centre = ONNX_OP(o, "Add", ONNX_OP(o, "Mul", v[axis], s->size[axis]), s->centre[axis]);
    int size = ONNX_OP(o, "Mul", ONNX_OP(o, "Exp", v[2 + axis]), s->size[axis]);

    return ONNX_OP(o, i < 2 ? "Sub" : "Add", centre, ferry__onnx_scaled(o, size, 0.5, 0));
}

/* Decodes the locations of one class, 1 × priors × 4, to boxes, 1 × priors × 4. */
static int decode(struct ferry__onnx *o, const struct detection *d, const struct priors *s,
                  int locations)
{
    bool plain = ferry_proto_boolean(d->p, "variance_encoded_in_target", 0);
    const char *code = ferry_proto_enum(d->p, "code_type", 0);
    int v[4], corner[4], boxes, i;

    for (i = 0; i < 4; i++) {
        v[i] = column(o, locations, 2, i);
        if (!plain)
            v[i] = ONNX_OP(o, "Mul", s->variance[i], v[i]);
    }
    for (i = 0; i < 4; i++) {
        if (!strcmp(code, "CENTER_SIZE"))
            corner[i] = corner_by_centre(o, s, v, i);
        else if (!strcmp(code, "CORNER_SIZE"))
            corner[i] = ONNX_OP(o, "Add", s->corner[i], ONNX_OP(o, "Mul", v[i], s->size[i % 2]));
        else
            corner[i] = ONNX_OP(o, "Add", s->corner[i], v[i]);
    }
    boxes = ferry__onnx_concat_of(o, 2, 4, corner);
    return ferry_proto_boolean(d->p, "clip", 0) ? ferry__onnx_clip_to(o, boxes, 0, 1) : boxes;
}

/* ---- selection ------------------------------------------------------------------------------ */

/* Scores, 1 × classes × priors, with −FLT_MAX for all except each class's top_k. */
static int best_scores(struct ferry__onnx *o, const struct detection *d, int scores)
{
    int64_t dims[3] = { 1, d->classes, d->priors };
    float least = -FLT_MAX;
    int k, values, index, none, y;

    if (d->top_k < 0 || d->top_k >= d->priors)
        return scores;
    k = ferry__onnx_ints(o, 1, &(int64_t){ d->top_k });
    values = ferry__onnx_top_k(o, scores, k, 2, &index);
    none =
        ONNX_OP(o, "Expand", ferry__onnx_floats(o, 0, NULL, &least), ferry__onnx_ints(o, 3, dims));
    y = ONNX_OP(o, "ScatterElements", none, index, values);
    ferry__onnx_set_int(o, "axis", 2);
    return y;
}

/*
 * Sets the scores of the background class to −FLT_MAX, by a factor and a term for each class that
 * leave the other classes unchanged.
 */
static int without_background(struct ferry__onnx *o, const struct detection *d, int scores)
{
    int64_t dims[3] = { 1, d->classes, 1 };
    float *factors = ferry__onnx_alloc(o, (size_t)d->classes * 2 * sizeof *factors), *terms;
    int64_t i;

    if (!factors || d->background < 0 || d->background >= d->classes)
        return scores;
    terms = factors + d->classes;
    for (i = 0; i < d->classes; i++)
        factors[i] = 1;
    factors[d->background] = 0;
    terms[d->background] = -FLT_MAX;
    scores = ONNX_OP(o, "Mul", scores, ferry__onnx_floats(o, 3, dims, factors));
    return ONNX_OP(o, "Add", scores, ferry__onnx_floats(o, 3, dims, terms));
}

/* Rows of batch, class and box that suppression keeps. */
static int suppress(struct ferry__onnx *o, const struct detection *d, int boxes, int scores)
{
    const ferry_proto *nms = ferry_proto_message(d->p, "nms_param", 0);
    bool given = ferry_proto_value_count(d->p, "confidence_threshold") > 0;
    double least = given ? ferry_proto_real(d->p, "confidence_threshold", 0) : -FLT_MAX;
    float limits[2] = { (float)ferry_proto_real(nms, "nms_threshold", 0), (float)least };
    int most = ferry__onnx_ints(o, 1, &(int64_t){ d->priors });

    return ONNX_OP(o, "NonMaxSuppression", boxes, scores, most,
                   ferry__onnx_floats(o, 1, &(int64_t){ 1 }, &limits[0]),
                   ferry__onnx_floats(o, 1, &(int64_t){ 1 }, &limits[1]));
}

/* Keeps the keep_top_k best of `index` by their scores, in their original order. */
static int keep_best(struct ferry__onnx *o, const struct detection *d, int index, int scores)
{
    int count, k, best, order;

    if (d->keep < 0)
        return index;
    count = ONNX_OP(o, "Shape", scores);
    k = ferry__onnx_concat_of(o, 0, 2, (int[]){ count, ferry__onnx_ints(o, 1, &d->keep) });
    k = ferry__onnx_reduce(o, "ReduceMin", k, 1, &(int64_t){ 0 }, true);
    ferry__onnx_top_k(o, scores, k, 0, &best);
    order = ONNX_OP(o, "TopK", best, k);
    ferry__onnx_set_int(o, "axis", 0);
    ferry__onnx_set_int(o, "largest", 0);
    (void)ferry__onnx_more(o); /* the second output of TopK */
    return ferry__onnx_gather(o, index, order, 0);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Builds the rows of the selected boxes: image, label, score and box. */
static int rows(struct ferry__onnx *o, const struct detection *d, int64_t image, int chosen,
                int scores, int boxes)
{
    int64_t flat[1] = { -1 }, table[2] = { -1, 4 };
    int label = column(o, chosen, 1, 1), box = column(o, chosen, 1, 2), place, score, part[4];
    int all = ONNX_OP(o, "Reshape", scores, ferry__onnx_ints(o, 1, flat));

    place = ONNX_OP(o, "Add", ONNX_OP(o, "Mul", label, ferry__onnx_int(o, d->priors)), box);
    score =
        ferry__onnx_gather(o, all, ONNX_OP(o, "Reshape", place, ferry__onnx_ints(o, 1, flat)), 0);
    chosen = keep_best(o, d, chosen, score);
    label = column(o, chosen, 1, 1);
    box = column(o, chosen, 1, 2);
    place = ONNX_OP(o, "Add", ONNX_OP(o, "Mul", label, ferry__onnx_int(o, d->priors)), box);
    part[2] = ferry__onnx_gather(o, all, place, 0);
    part[1] = ferry__onnx_cast(o, label, FERRY__ONNX_FLOAT);
    part[0] = ferry__onnx_scaled(o, ONNX_OP(o, "Mul", part[1], ferry__onnx_float(o, 0)), 1,
                                 (double)image);
    box = d->location_classes > 1 ? place : box;
    box = ONNX_OP(o, "Reshape", box, ferry__onnx_ints(o, 1, flat));
    all = ONNX_OP(o, "Reshape", boxes, ferry__onnx_ints(o, 2, table));
    part[3] = ferry__onnx_gather(o, all, box, 0);
    return ferry__onnx_concat_of(o, 1, 4, part);
}

/* Builds the rows of one image: locations 1 × priors × classes × 4, scores 1 × priors × classes. */
static int image_rows(struct ferry__onnx *o, const struct detection *d, const struct priors *s,
                      int64_t image, int locations, int scores)
{
    int64_t dims[3] = { 1, d->priors, 4 }, axes[3] = { 0, 2, 1 }, i;
    int *boxes = ferry__onnx_alloc(o, (size_t)d->classes * 2 * sizeof *boxes), *chosen, kept,
        masked;

    if (!boxes)
        return 0;
    chosen = boxes + d->classes;
    scores = ferry__onnx_transpose(o, scores, 3, axes);
    masked = without_background(o, d, best_scores(o, d, scores));
    for (i = 0; i < d->location_classes; i++) {
        int own = column(o, locations, 2, i);

        own = ONNX_OP(o, "Reshape", own, ferry__onnx_ints(o, 3, dims));
        boxes[i] = decode(o, d, s, own);
        if (d->location_classes == 1) {
            chosen[i] = suppress(o, d, boxes[i], masked);
            continue;
        }
        kept = suppress(o, d, boxes[i], column(o, masked, 1, i));
        chosen[i] = ONNX_OP(o, "Add", kept, ferry__onnx_ints(o, 3, (int64_t[]){ 0, i, 0 }));
    }
    if (d->location_classes == 1)
        return rows(o, d, image, chosen[0], scores, boxes[0]);
    kept = ferry__onnx_concat_of(o, 0, (int)d->classes, chosen);
    return rows(o, d, image, kept, scores, ferry__onnx_concat_of(o, 0, (int)d->classes, boxes));
}

/*
 * Handles nets without any detection: each image then has one row of its number and −1. These rows
 * are appended, and sliced off if there are other rows.
 */
static int or_none(struct ferry__onnx *o, const struct detection *d, int found)
{
    int64_t dims[2] = { d->images, 7 }, i;
    float *none = ferry__onnx_alloc(o, (size_t)(d->images * 7) * sizeof *none);
    int count, all, rest, first = ferry__onnx_ints(o, 1, &(int64_t){ 0 }), y;

    for (i = 0; none && i < d->images * 7; i++)
        none[i] = i % 7 ? -1 : (float)(i / 7);
    if (!none)
        return 0;
    count = ferry__onnx_slice_of(o, ONNX_OP(o, "Shape", found), 0, 0, 1);
    all = ferry__onnx_concat_of(o, 0, 2, (int[]){ found, ferry__onnx_floats(o, 2, dims, none) });
    rest = ONNX_OP(o, "Equal", count, first);
    rest = ONNX_OP(o, "Where", rest, ferry__onnx_ints(o, 1, &d->images), count);
    y = ONNX_OP(o, "Slice", all, first, rest, first);
    return ferry__onnx_unsqueeze(o, y, 2, (int64_t[]){ 0, 1 });
}

static void read_detection(const ferry_layer *layer, struct detection *d)
{
    const ferry_proto *nms;

    d->p = ferry__onnx_message(layer, "detection_output_param");
    nms = ferry_proto_message(d->p, "nms_param", 0);
    d->images = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 0);
    d->priors = ferry_blob_dim(ferry_layer_bottom_at(layer, 2), 2) / 4;
    d->classes = ferry_proto_integer(d->p, "num_classes", 0);
    d->location_classes = ferry_proto_boolean(d->p, "share_location", 0) ? 1 : d->classes;
    d->background = ferry_proto_integer(d->p, "background_label_id", 0);
    d->top_k = ferry_proto_value_count(nms, "top_k") ? ferry_proto_integer(nms, "top_k", 0) : -1;
    d->keep = ferry_proto_integer(d->p, "keep_top_k", 0);
}

void ferry__onnx_detection_output(struct ferry__onnx *o)
{
    struct detection d;
    struct priors s;
    int locations, scores, *parts, all;
    int64_t i;

    read_detection(o->layer, &d);
    read_priors(o, &d, &s);
    locations =
        ONNX_OP(o, "Reshape", ferry__onnx_bottom(o, 0),
                ferry__onnx_ints(o, 4, (int64_t[]){ d.images, d.priors, d.location_classes, 4 }));
    scores = ONNX_OP(o, "Reshape", ferry__onnx_bottom(o, 1),
                     ferry__onnx_ints(o, 3, (int64_t[]){ d.images, d.priors, d.classes }));
    parts = ferry__onnx_alloc(o, (size_t)d.images * sizeof *parts);
    for (i = 0; parts && i < d.images; i++)
        parts[i] = image_rows(o, &d, &s, i, column(o, locations, 0, i), column(o, scores, 0, i));
    if (!parts)
        return;
    all = d.images > 1 ? ferry__onnx_concat_of(o, 0, (int)d.images, parts) : parts[0];
    ferry__onnx_top(o, 0, or_none(o, &d, all));
}

const char *ferry__onnx_detection_output_refuse(const struct ferry__onnx *o,
                                                const ferry_layer *layer)
{
    const ferry_proto *p = ferry__onnx_message(layer, "detection_output_param");

    if (ferry_proto_real(ferry_proto_message(p, "nms_param", 0), "eta", 0) < 1)
        return "NonMaxSuppression has one threshold, not eta";
    if (ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 0) < 1)
        return "it has no image";
    return ferry__onnx_one_batch(o, layer);
}
