/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PriorBox (prior_box_param): boxes around each position of bottom 0, relative to the size of
 * bottom 1's image: channel 0 has xmin, ymin, xmax, ymax of each box, channel 1 the variances. Each
 * min_size has a square of that size, one of √(min · max), and a box for each other aspect_ratio
 * (with flip also its inverse). Sizes are truncated to integers. (weiliu89's SSD: PriorBoxLayer.)
 */
#include "net/layers/layers.h"

#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>

#define MOST_RATIOS 64

struct priors {
    double ratios[MOST_RATIOS]; /* the first is 1 */
    int n_ratios, n_min, n_max;
    bool clip;
    double step_w, step_h, offset; /* 0: the layer computes the steps from the image */
    int64_t image_w, image_h;      /* 0: bottom 1 has the size */
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "prior_box_param", 0);
}

static void add_ratio(struct priors *s, double ratio)
{
    int i;

    for (i = 0; i < s->n_ratios; i++)
        if (fabs(s->ratios[i] - ratio) < 1e-6)
            return;
    if (s->n_ratios < MOST_RATIOS)
        s->ratios[s->n_ratios++] = ratio;
}

static int read_ratios(ferry_layer *layer, struct priors *s, const ferry_proto *p)
{
    int64_t n = ferry_proto_value_count(p, "aspect_ratio"), i;
    bool flip = ferry_proto_boolean(p, "flip", 0);

    add_ratio(s, 1);
    if (n > MOST_RATIOS / 2 - 1)
        return ferry_proto_error(p, "aspect_ratio", 0, FERRY_EFORMAT,
                                 "layer \"%s\": %lld aspect ratios", ferry_layer_name(layer),
                                 (long long)n);
    for (i = 0; i < n; i++) {
        double ratio = ferry_proto_real(p, "aspect_ratio", i);

        if (!(ratio > 0))
            return ferry_proto_error(p, "aspect_ratio", i, FERRY_EFORMAT,
                                     "layer \"%s\": an aspect ratio of %g", ferry_layer_name(layer),
                                     ratio);
        add_ratio(s, ratio);
        if (flip)
            add_ratio(s, 1 / ratio);
    }
    return 0;
}

static int read_sizes(ferry_layer *layer, struct priors *s, const ferry_proto *p)
{
    int64_t variances = ferry_proto_value_count(p, "variance");
    int i;

    s->n_min = (int)ferry_proto_value_count(p, "min_size");
    s->n_max = (int)ferry_proto_value_count(p, "max_size");
    if (!s->n_min || (s->n_max && s->n_max != s->n_min))
        return ferry_layer_error(layer, FERRY_EFORMAT, "it has %d min_size and %d max_size",
                                 s->n_min, s->n_max);
    for (i = 0; i < s->n_min; i++)
        if (!(ferry_proto_real(p, "min_size", i) > 0) ||
            (s->n_max &&
             !(ferry_proto_real(p, "max_size", i) > ferry_proto_real(p, "min_size", i))))
            return ferry_proto_error(p, "min_size", i, FERRY_EFORMAT,
                                     "layer \"%s\": 0 < min_size < max_size is required",
                                     ferry_layer_name(layer));
    if (variances > 1 && variances != 4)
        return ferry_proto_error(p, "variance", 0, FERRY_EFORMAT,
                                 "layer \"%s\": %lld variances, give 1 or 4",
                                 ferry_layer_name(layer), (long long)variances);
    return 0;
}

static int setup(ferry_layer *layer)
{
    struct priors *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);
    int err = read_ratios(layer, s, p);

    s->clip = ferry_proto_boolean(p, "clip", 0);
    s->offset = ferry_proto_real(p, "offset", 0);
    s->image_w = s->image_h = ferry_proto_integer(p, "img_size", 0);
    if (ferry_proto_value_count(p, "img_w") || ferry_proto_value_count(p, "img_h")) {
        s->image_w = ferry_proto_integer(p, "img_w", 0);
        s->image_h = ferry_proto_integer(p, "img_h", 0);
    }
    s->step_w = s->step_h = ferry_proto_real(p, "step", 0);
    if (ferry_proto_value_count(p, "step_w") || ferry_proto_value_count(p, "step_h")) {
        s->step_w = ferry_proto_real(p, "step_w", 0);
        s->step_h = ferry_proto_real(p, "step_h", 0);
    }
    return err ? err : read_sizes(layer, s, p);
}

static int boxes_of(const struct priors *s)
{
    return s->n_ratios * s->n_min + s->n_max;
}

static int reshape(ferry_layer *layer)
{
    const struct priors *s = ferry_layer_state(layer);
    const ferry_blob *places = ferry_layer_bottom_at(layer, 0);
    int64_t shape[3] = { 1, 2, 0 };

    if (ferry_blob_rank(places) != 4 || ferry_blob_rank(ferry_layer_bottom_at(layer, 1)) != 4)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottoms have %d and %d axes, not 4",
                                 ferry_blob_rank(places),
                                 ferry_blob_rank(ferry_layer_bottom_at(layer, 1)));
    shape[2] = ferry_blob_dim(places, 2) * ferry_blob_dim(places, 3) * boxes_of(s) * 4;
    return ferry_blob_reshape(ferry_layer_top_at(layer, 0), shape, 3, NULL);
}

/* The centre of the boxes at one position. */
struct centre {
    double x, y, image_w, image_h;
    float *next;
};

static void put(struct centre *at, double w, double h)
{
    *at->next++ = (float)((at->x - w / 2) / at->image_w);
    *at->next++ = (float)((at->y - h / 2) / at->image_h);
    *at->next++ = (float)((at->x + w / 2) / at->image_w);
    *at->next++ = (float)((at->y + h / 2) / at->image_h);
}

static void put_boxes(const struct priors *s, const ferry_proto *p, struct centre *at)
{
    int i, k;

    for (i = 0; i < s->n_min; i++) {
        double least = trunc(ferry_proto_real(p, "min_size", i));

        put(at, least, least);
        if (s->n_max) {
            double size = sqrt(least * trunc(ferry_proto_real(p, "max_size", i)));

            put(at, size, size);
        }
        for (k = 1; k < s->n_ratios; k++)
            put(at, least * sqrt(s->ratios[k]), least / sqrt(s->ratios[k]));
    }
}

static void put_variances(const ferry_proto *p, float *out, int64_t n)
{
    int64_t given = ferry_proto_value_count(p, "variance"), i;

    for (i = 0; i < n; i++)
        out[i] = given ? (float)ferry_proto_real(p, "variance", given > 1 ? i % 4 : 0) : 0.1f;
}

static int forward(ferry_layer *layer)
{
    const struct priors *s = ferry_layer_state(layer);
    const ferry_blob *places = ferry_layer_bottom_at(layer, 0),
                     *image = ferry_layer_bottom_at(layer, 1);
    int64_t h = ferry_blob_dim(places, 2), w = ferry_blob_dim(places, 3), y, x, i, n;
    struct centre at;
    float *top = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));

    if (!top)
        return ferry_last_error_code();
    at.next = top;
    at.image_w = (double)(s->image_w ? s->image_w : ferry_blob_dim(image, 3));
    at.image_h = (double)(s->image_h ? s->image_h : ferry_blob_dim(image, 2));
    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++) {
            at.x = ((double)x + s->offset) * (s->step_w > 0 ? s->step_w : at.image_w / (double)w);
            at.y = ((double)y + s->offset) * (s->step_h > 0 ? s->step_h : at.image_h / (double)h);
            put_boxes(s, parameters(layer), &at);
        }
    n = ferry_blob_element_count(ferry_layer_top_at(layer, 0)) / 2;
    for (i = 0; i < n && s->clip; i++)
        top[i] = top[i] < 0 ? 0 : top[i] > 1 ? 1 : top[i];
    put_variances(parameters(layer), top + n, n);
    return 0;
}

static const char *const messages[] = { "prior_box_param", NULL };

const ferry_layer_type ferry__prior_box_layer = {
    .struct_size = sizeof ferry__prior_box_layer,
    .name = "PriorBox",
    .state_size = sizeof(struct priors),
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_FORWARD_ONLY,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
};
