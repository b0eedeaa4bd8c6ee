/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proposal (proposal_param): regions of interest from scores (1 × 2A × H × W, objects in the second
 * half), deltas (1 × 4A × H × W) and the image (height, width, scale). Anchors of base_size with
 * each ratio and scale are feat_stride apart; deltas shift and scale them; they are clipped to the
 * image; those below min_size · scale are dropped; the pre_nms_topn best enter non-maximum
 * suppression with nms_thresh. Top 0: post_nms_topn rows of 0, x1, y1, x2, y2, zeros after the last
 * region; top 1: their scores. (Faster R-CNN: its proposal layer, whose top has as many rows as
 * there are regions.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct region {
    float at[4], score;
    int64_t order; /* among equal scores the first anchor comes first */
};

struct proposal {
    int64_t stride, base, before, after;
    double least, overlap;
    int64_t ratios, scales, anchors;
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "proposal_param", 0);
}

static int setup(ferry_layer *layer)
{
    struct proposal *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);

    s->stride = ferry_proto_integer(p, "feat_stride", 0);
    s->base = ferry_proto_integer(p, "base_size", 0);
    s->before = ferry_proto_integer(p, "pre_nms_topn", 0);
    s->after = ferry_proto_integer(p, "post_nms_topn", 0);
    s->least = ferry_proto_real(p, "min_size", 0);
    s->overlap = ferry_proto_real(p, "nms_thresh", 0);
    s->ratios = ferry_proto_value_count(p, "ratio") ? ferry_proto_value_count(p, "ratio") : 3;
    s->scales = ferry_proto_value_count(p, "scale") ? ferry_proto_value_count(p, "scale") : 3;
    s->anchors = s->ratios * s->scales;
    if (s->stride < 1 || s->base < 1 || s->before < 1 || s->after < 1)
        return ferry_layer_error(layer, FERRY_EFORMAT,
                                 "feat_stride, base_size, pre_nms_topn and post_nms_topn are %lld, "
                                 "%lld, %lld and %lld",
                                 (long long)s->stride, (long long)s->base, (long long)s->before,
                                 (long long)s->after);
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const struct proposal *s = ferry_layer_state(layer);
    const ferry_blob *scores = ferry_layer_bottom_at(layer, 0),
                     *deltas = ferry_layer_bottom_at(layer, 1);
    int64_t rows[2];
    int err;

    if (ferry_blob_rank(scores) != 4 || ferry_blob_dim(scores, 0) != 1 ||
        ferry_blob_dim(scores, 1) != 2 * s->anchors ||
        ferry_blob_element_count(deltas) != 2 * ferry_blob_element_count(scores) ||
        ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)) < 3)
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "its bottoms have %lld, %lld and %lld elements for %lld anchors",
            (long long)ferry_blob_element_count(scores),
            (long long)ferry_blob_element_count(deltas),
            (long long)ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)),
            (long long)s->anchors);
    rows[0] = s->after;
    rows[1] = 5;
    err = ferry_blob_reshape(ferry_layer_top_at(layer, 0), rows, 2, NULL);
    rows[1] = 1;
    if (!err && ferry_layer_top_count(layer) > 1)
        err = ferry_blob_reshape(ferry_layer_top_at(layer, 1), rows, 2, NULL);
    return err;
}

/* Value `i` of a field, or its default. */
static double value_of(const ferry_layer *layer, const char *field, int64_t i, const double *usual)
{
    return ferry_proto_value_count(parameters(layer), field)
               ? ferry_proto_real(parameters(layer), field, i)
               : usual[i];
}

/* The width and height of anchor `a`: the scales vary fastest. */
static void anchor_of(const ferry_layer *layer, const struct proposal *s, int64_t a, double *w,
                      double *h)
{
    static const double ratios[] = { 0.5, 1, 2 }, scales[] = { 8, 16, 32 };
    double ratio = value_of(layer, "ratio", a / s->scales, ratios);
    double scale = value_of(layer, "scale", a % s->scales, scales);
    double wide = rint(sqrt((double)s->base * (double)s->base / ratio));

    *w = wide * scale;
    *h = rint(wide * ratio) * scale;
}

static float limited(double x, double most)
{
    return (float)(x < 0 ? 0 : x > most ? most : x);
}

/* Moves the anchor of size w × h at (x, y) by d, and clips it to the image. */
static void place_anchor(double x, double y, double w, double h, const float *d, int64_t step,
                         const float *image, float out[4])
{
    double cx = x + d[0] * w, cy = y + d[step] * h;
    double half_w = exp((double)d[2 * step]) * w / 2, half_h = exp((double)d[3 * step]) * h / 2;

    out[0] = limited(cx - half_w, image[1] - 1);
    out[1] = limited(cy - half_h, image[0] - 1);
    out[2] = limited(cx + half_w, image[1] - 1);
    out[3] = limited(cy + half_h, image[0] - 1);
}

/* Collects the regions that are large enough. */
static int64_t gather(const ferry_layer *layer, const struct proposal *s, const float *scores,
                      const float *deltas, const float *image, struct region *out)
{
    const ferry_blob *b = ferry_layer_bottom_at(layer, 0);
    int64_t height = ferry_blob_dim(b, 2), width = ferry_blob_dim(b, 3), plane = height * width;
    int64_t i, a, n = 0;
    double middle = 0.5 * (double)(s->base - 1);

    for (i = 0; i < plane; i++)
        for (a = 0; a < s->anchors; a++) {
            struct region *r = &out[n];
            double w, h;

            anchor_of(layer, s, a, &w, &h);
            /* an anchor of w elements ends at w − 1, so its centre is half an element further */
            place_anchor(middle + 0.5 + (double)(i % width * s->stride),
                         middle + 0.5 + (double)(i / width * s->stride), w, h,
                         &deltas[4 * a * plane + i], plane, image, r->at);
            r->score = scores[(s->anchors + a) * plane + i];
            r->order = i * s->anchors + a;
            if (r->at[2] - r->at[0] + 1 >= s->least * image[2] &&
                r->at[3] - r->at[1] + 1 >= s->least * image[2])
                n++;
        }
    return n;
}

static int by_score(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    int order = ferry__descending(x->score, y->score);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static double area(const float at[4])
{
    return ((double)at[2] - at[0] + 1) * ((double)at[3] - at[1] + 1);
}

/* The intersection over union of two regions. */
static double shared(const float a[4], const float b[4])
{
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]) + 1, h = fmin(a[3], b[3]) - fmax(a[1], b[1]) + 1;
    double both = w > 0 && h > 0 ? w * h : 0;

    return both / (area(a) + area(b) - both);
}

/* Moves the kept regions to the front and returns their number. */
static int64_t suppress(const struct proposal *s, struct region *r, int64_t n)
{
    int64_t kept = 0, i, k;

    for (i = 0; i < n && kept < s->after; i++) {
        for (k = 0; k < kept && shared(r[k].at, r[i].at) <= s->overlap; k++)
            ;
        if (k == kept)
            r[kept++] = r[i];
    }
    return kept;
}

static int store(ferry_layer *layer, const struct proposal *s, const struct region *r, int64_t n)
{
    float *rows = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0)), *scores = NULL;
    int64_t i;

    if (ferry_layer_top_count(layer) > 1)
        scores = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 1));
    if (!rows || (ferry_layer_top_count(layer) > 1 && !scores))
        return ferry_last_error_code();
    memset(rows, 0, (size_t)s->after * 5 * sizeof *rows);
    for (i = 0; i < n; i++)
        memcpy(&rows[5 * i + 1], r[i].at, sizeof r[i].at);
    for (i = 0; scores && i < s->after; i++)
        scores[i] = i < n ? r[i].score : 0;
    return 0;
}

static int forward(ferry_layer *layer)
{
    const struct proposal *s = ferry_layer_state(layer);
    const float *scores = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *deltas = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *image = ferry_blob_host_data(ferry_layer_bottom_at(layer, 2));
    int64_t all = ferry_blob_element_count(ferry_layer_bottom_at(layer, 0)) / 2, n;
    struct region *regions;
    int err;

    if (!scores || !deltas || !image)
        return ferry_last_error_code();
    regions = malloc((size_t)(all + 1) * sizeof *regions);
    if (!regions)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its regions");
    n = gather(layer, s, scores, deltas, image, regions);
    qsort(regions, (size_t)n, sizeof *regions, by_score);
    n = suppress(s, regions, n < s->before ? n : s->before);
    err = store(layer, s, regions, n);
    free(regions);
    return err;
}

static const char *const messages[] = { "proposal_param", NULL };

const ferry_layer_type ferry__proposal_layer = {
    .struct_size = sizeof ferry__proposal_layer,
    .name = "Proposal",
    .state_size = sizeof(struct proposal),
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .flags = FERRY_LAYER_FORWARD_ONLY,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
