/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DetectionOutput (detection_output_param): locations, confidences and priors to rows of image,
 * label, score, xmin, ymin, xmax, ymax, (1, 1, rows, 7). Boxes are decoded by code_type and, with
 * clip, cut to 0 … 1; boxes below confidence_threshold are dropped; non-maximum suppression keeps
 * top_k of each class, and keep_top_k of each image. If no image has a box, there is one row for
 * each image with its index and −1. (weiliu89's SSD: DetectionOutputLayer; clip: OpenCV.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct box {
    float xmin, ymin, xmax, ymax;
};

/* A box that may become a row of the top. */
struct candidate {
    float score;
    int label;
    int prior;
};

struct detection {
    int classes, location_classes, background;
    bool shared, plain_target, clip;
    int code; /* 1 CORNER, 2 CENTER_SIZE, 3 CORNER_SIZE */
    int top_k, keep_top_k;
    double threshold, nms, eta;
};

static int setup(ferry_layer *layer)
{
    struct detection *s = ferry_layer_state(layer);
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "detection_output_param", 0);
    const ferry_proto *nms = ferry_proto_message(p, "nms_param", 0);

    s->classes = (int)ferry_proto_integer(p, "num_classes", 0);
    s->shared = ferry_proto_boolean(p, "share_location", 0);
    s->location_classes = s->shared ? 1 : s->classes;
    s->background = (int)ferry_proto_integer(p, "background_label_id", 0);
    s->plain_target = ferry_proto_boolean(p, "variance_encoded_in_target", 0);
    s->clip = ferry_proto_boolean(p, "clip", 0);
    s->code = !strcmp(ferry_proto_enum(p, "code_type", 0), "CENTER_SIZE")   ? 2
              : !strcmp(ferry_proto_enum(p, "code_type", 0), "CORNER_SIZE") ? 3
                                                                            : 1;
    s->keep_top_k = (int)ferry_proto_integer(p, "keep_top_k", 0);
    s->threshold = ferry_proto_value_count(p, "confidence_threshold")
                       ? ferry_proto_real(p, "confidence_threshold", 0)
                       : -FLT_MAX;
    s->nms = ferry_proto_real(nms, "nms_threshold", 0);
    s->eta = ferry_proto_real(nms, "eta", 0);
    s->top_k =
        ferry_proto_value_count(nms, "top_k") ? (int)ferry_proto_integer(nms, "top_k", 0) : -1;
    if (s->classes < 1 || s->nms < 0 || !(s->eta > 0 && s->eta <= 1))
        return ferry_layer_error(layer, FERRY_EFORMAT,
                                 "num_classes is %d, nms_threshold %g, eta %g", s->classes, s->nms,
                                 s->eta);
    if (!ferry_proto_boolean(p, "normalized_bbox", 0))
        return ferry_layer_error(layer, FERRY_EUNSUPPORTED,
                                 "normalized_bbox is false: boxes in pixels are not supported");
    return 0;
}

static int64_t priors_of(const ferry_layer *layer)
{
    const ferry_blob *priors = ferry_layer_bottom_at(layer, 2);

    return ferry_blob_rank(priors) == 3 ? ferry_blob_dim(priors, 2) / 4 : -1;
}

static int reshape(ferry_layer *layer)
{
    const struct detection *s = ferry_layer_state(layer);
    const ferry_blob *locations = ferry_layer_bottom_at(layer, 0),
                     *scores = ferry_layer_bottom_at(layer, 1);
    int64_t n = priors_of(layer),
            images = ferry_blob_rank(locations) ? ferry_blob_dim(locations, 0) : 0;

    if (n < 0)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its priors have %d axes, not 3",
                                 ferry_blob_rank(ferry_layer_bottom_at(layer, 2)));
    if (ferry_blob_element_count(locations) != images * n * 4 * s->location_classes ||
        ferry_blob_element_count(scores) != images * n * s->classes)
        return ferry_layer_error(layer, FERRY_ESHAPE,
                                 "%lld priors, %lld locations and %lld confidences for %d classes",
                                 (long long)n, (long long)ferry_blob_element_count(locations),
                                 (long long)ferry_blob_element_count(scores), s->classes);
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), (int64_t[]){ 1, 1, 1, 7 }, 4, NULL);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static struct box decode(const struct detection *s, const float *prior, const float *variance,
                         const float *at)
{
    float w = prior[2] - prior[0], h = prior[3] - prior[1], v[4], cx, cy, bw, bh;
    int i;

    for (i = 0; i < 4; i++)
        v[i] = s->plain_target ? at[i] : variance[i] * at[i];
    if (s->code == 1)
        return (struct box){ prior[0] + v[0], prior[1] + v[1], prior[2] + v[2], prior[3] + v[3] };
    if (s->code == 3)
        return (struct box){ prior[0] + v[0] * w, prior[1] + v[1] * h, prior[2] + v[2] * w,
                             prior[3] + v[3] * h };
    cx = v[0] * w + (prior[0] + prior[2]) / 2;
    cy = v[1] * h + (prior[1] + prior[3]) / 2;
    bw = expf(v[2]) * w;
    bh = expf(v[3]) * h;
    return (struct box){ cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2 };
}

/* Clamps a coordinate to 0 … 1; NaN is kept. */
static float cut(float v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

static float area(const struct box *b)
{
    return b->xmax < b->xmin || b->ymax < b->ymin ? 0 : (b->xmax - b->xmin) * (b->ymax - b->ymin);
}

/* The intersection over union of two boxes. */
static float overlap(const struct box *a, const struct box *b)
{
    struct box both = { fmaxf(a->xmin, b->xmin), fmaxf(a->ymin, b->ymin), fminf(a->xmax, b->xmax),
                        fminf(a->ymax, b->ymax) };
    float common;

    if (b->xmin > a->xmax || b->xmax < a->xmin || b->ymin > a->ymax || b->ymax < a->ymin)
        return 0;
    common = area(&both);
    return common / (area(a) + area(b) - common);
}

/*
 * The order of candidates: the higher score first; among equal scores the earlier prior, then the
 * lower label.
 */
static int by_score(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->prior != b->prior ? (a->prior > b->prior) - (a->prior < b->prior)
                                : (a->label > b->label) - (a->label < b->label);
}

static int by_label(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    return a->label != b->label ? (a->label > b->label) - (a->label < b->label) : by_score(x, y);
}

/* ---- an image -------------------------------------------------------------------------------- */

/* Inputs and work arrays of one image; the arrays have room for every prior and class. */
struct image {
    const struct detection *s;
    int64_t n;
    const float *locations, *scores, *priors;
    struct box *boxes;            /* the boxes of the current class */
    struct candidate *kept, *one; /* kept: candidates of all classes so far; one: of the current
                                   * class */
    int n_kept;
};

static void decode_class(struct image *im, int label)
{
    int64_t i, width = im->s->location_classes;

    for (i = 0; i < im->n; i++) {
        struct box b = decode(im->s, im->priors + 4 * i, im->priors + 4 * (im->n + i),
                              im->locations + 4 * (i * width + (im->s->shared ? 0 : label)));

        if (im->s->clip)
            b = (struct box){ cut(b.xmin), cut(b.ymin), cut(b.xmax), cut(b.ymax) };
        im->boxes[i] = b;
    }
}

/* Non-maximum suppression of one class, starting with the best box. */
static void suppress_class(struct image *im, int label)
{
    int first = im->n_kept, n = 0, i, k;
    float limit = (float)im->s->nms;

    for (i = 0; i < im->n; i++) {
        float score = im->scores[i * im->s->classes + label];

        if ((double)score > im->s->threshold)
            im->one[n++] = (struct candidate){ score, label, i };
    }
    qsort(im->one, (size_t)n, sizeof *im->one, by_score);
    if (im->s->top_k >= 0 && n > im->s->top_k)
        n = im->s->top_k;
    for (i = 0; i < n; i++) {
        for (k = first; k < im->n_kept; k++)
            if (overlap(&im->boxes[im->one[i].prior], &im->boxes[im->kept[k].prior]) > limit)
                break;
        if (k < im->n_kept)
            continue;
        im->kept[im->n_kept++] = im->one[i];
        if (im->s->eta < 1 && limit > 0.5f)
            limit *= (float)im->s->eta;
    }
}

static void detect(struct image *im)
{
    int label;

    im->n_kept = 0;
    if (im->s->shared)
        decode_class(im, 0);
    for (label = 0; label < im->s->classes; label++) {
        if (label == im->s->background)
            continue;
        if (!im->s->shared)
            decode_class(im, label);
        suppress_class(im, label);
    }
    if (im->s->keep_top_k >= 0 && im->n_kept > im->s->keep_top_k) {
        qsort(im->kept, (size_t)im->n_kept, sizeof *im->kept, by_score);
        im->n_kept = im->s->keep_top_k;
    }
    qsort(im->kept, (size_t)im->n_kept, sizeof *im->kept, by_label);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_rows(struct image *im, int number, float **rows, int64_t *count)
{
    int64_t i;
    float *grown = realloc(*rows, (size_t)(*count + im->n_kept + 1) * 7 * sizeof **rows), *row;

    if (!grown)
        return FERRY_ENOMEM;
    *rows = grown;
    row = grown + *count * 7;
    *count += im->n_kept;
    for (i = 0; i < im->n_kept; i++, row += 7) {
        const struct candidate *c = &im->kept[i];
        struct box b;

        if (!im->s->shared)
            decode_class(im, c->label);
        b = im->boxes[c->prior];
        row[0] = (float)number;
        row[1] = (float)c->label;
        row[2] = c->score;
        memcpy(row + 3, &b, sizeof b);
    }
    return 0;
}

/* Writes the rows. Without any box, writes one row for each image with its index and −1. */
static int put_rows(ferry_layer *layer, const float *rows, int64_t count, int64_t images)
{
    ferry_blob *top = ferry_layer_top_at(layer, 0);
    int err = ferry_blob_reshape(top, (int64_t[]){ 1, 1, count ? count : images, 7 }, 4, NULL);
    float *data = err ? NULL : ferry_blob_overwrite_host_data(top);
    int64_t i;

    if (!data)
        return err ? err : ferry_last_error_code();
    memcpy(data, rows, (size_t)count * 7 * sizeof *data);
    for (i = 0; !count && i < images * 7; i++)
        data[i] = i % 7 ? -1 : (float)(i / 7);
    return 0;
}

static int forward(ferry_layer *layer)
{
    const struct detection *s = ferry_layer_state(layer);
    struct image im = { .s = s, .n = priors_of(layer) };
    const float *locations = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *scores = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    int64_t images = ferry_blob_dim(ferry_layer_bottom_at(layer, 0), 0), count = 0, i;
    float *rows = NULL;
    int err = 0;

    im.priors = ferry_blob_host_data(ferry_layer_bottom_at(layer, 2));
    if (!locations || !scores || !im.priors)
        return ferry_last_error_code();
    im.boxes = malloc((size_t)(im.n + 1) * sizeof *im.boxes);
    im.one = malloc((size_t)(im.n + 1) * sizeof *im.one);
    im.kept = malloc((size_t)(im.n * s->classes + 1) * sizeof *im.kept);
    if (!im.boxes || !im.one || !im.kept)
        err = FERRY_ENOMEM;
    for (i = 0; !err && i < images; i++) {
        im.locations = locations + i * im.n * 4 * s->location_classes;
        im.scores = scores + i * im.n * s->classes;
        detect(&im);
        err = add_rows(&im, (int)i, &rows, &count);
    }
    if (err)
        ferry_layer_error(layer, err, "no memory for its boxes");
    else
        err = put_rows(layer, rows, count, images);
    free(rows);
    free(im.boxes);
    free(im.one);
    free(im.kept);
    return err;
}

static const char *const messages[] = { "detection_output_param", NULL };

const ferry_layer_type ferry__detection_output_layer = {
    .struct_size = sizeof ferry__detection_output_layer,
    .name = "DetectionOutput",
    .state_size = sizeof(struct detection),
    .min_bottoms = 3,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_FORWARD_ONLY | FERRY_LAYER_RESHAPES,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
