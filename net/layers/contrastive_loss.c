/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ContrastiveLoss (contrastive_loss_param): bottoms 0 and 1 are N vectors each, bottom 2 marks
 * similar pairs. The loss is d² for similar pairs, max(margin − d, 0)² for the others (with
 * legacy_version max(margin − d², 0)), summed and divided by 2N. (Caffe: ContrastiveLossLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

#include <math.h>

static int reshape(ferry_layer *layer)
{
    const ferry_blob *a = ferry_layer_bottom_at(layer, 0), *b = ferry_layer_bottom_at(layer, 1);
    int64_t pairs = ferry_blob_rank(a) ? ferry_blob_dim(a, 0) : 1;

    if (ferry_blob_element_count(a) != ferry_blob_element_count(b) ||
        (ferry_blob_rank(b) ? ferry_blob_dim(b, 0) : 1) != pairs)
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottoms have %lld and %lld elements",
                                 (long long)ferry_blob_element_count(a),
                                 (long long)ferry_blob_element_count(b));
    if (ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)) != pairs)
        return ferry_layer_error(
            layer, FERRY_ESHAPE, "%lld labels for %lld pairs",
            (long long)ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)), (long long)pairs);
    return ferry__loss_scalar(layer);
}

static double pair_loss(double squared, bool similar, double margin, bool legacy)
{
    double short_of;

    if (similar)
        return squared;
    short_of = margin - (legacy ? squared : sqrt(squared));
    if (short_of < 0)
        return 0;
    return legacy ? short_of : short_of * short_of;
}

static int forward(ferry_layer *layer)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "contrastive_loss_param", 0);
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t pairs = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1, i, k;
    int64_t wide = pairs ? ferry_blob_element_count(bottom) / pairs : 0;
    bool legacy = ferry_proto_boolean(p, "legacy_version", 0);
    double margin = ferry_proto_real(p, "margin", 0), loss = 0;
    const float *a = ferry_blob_host_data(bottom);
    const float *b = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *similar = ferry_blob_host_data(ferry_layer_bottom_at(layer, 2));

    if (!a || !b || !similar)
        return ferry_last_error_code();
    for (i = 0; i < pairs; i++) {
        double squared = 0;

        for (k = i * wide; k < (i + 1) * wide; k++)
            squared += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
        /* as in Caffe, the label is truncated to an integer */
        loss += pair_loss(squared, fabsf(similar[i]) >= 1, margin, legacy);
    }
    return ferry__loss_store(layer, pairs ? loss / (2 * (double)pairs) : 0);
}

/* The factor of a pair's difference in the gradient. */
static double pair_slope(double squared, bool similar, double margin, bool legacy)
{
    double short_of = margin - (legacy ? squared : sqrt(squared));

    if (similar)
        return 1;
    if (!(short_of > 0))
        return 0;
    return legacy ? -1 : -short_of / (sqrt(squared) + 1e-4);
}

/* Fills the diff of bottom `index`: the difference of each pair times its slope times `factor`. */
static int fill_diff(ferry_layer *layer, int index, double factor)
{
    const ferry_proto *p =
        ferry_proto_message(ferry_layer_message(layer), "contrastive_loss_param", 0);
    ferry_blob *bottom = ferry_layer_bottom_at(layer, index);
    int64_t pairs = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1, i, k;
    int64_t wide = pairs ? ferry_blob_element_count(bottom) / pairs : 0;
    bool legacy = ferry_proto_boolean(p, "legacy_version", 0);
    double margin = ferry_proto_real(p, "margin", 0);
    const float *a = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *b = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *similar = ferry_blob_host_data(ferry_layer_bottom_at(layer, 2));
    float *diff = ferry_blob_overwrite_host_diff(bottom);

    if (!a || !b || !similar || !diff)
        return ferry_last_error_code();
    for (i = 0; i < pairs; i++) {
        double squared = 0, slope;

        for (k = i * wide; k < (i + 1) * wide; k++)
            squared += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
        slope =
            factor / (double)pairs * pair_slope(squared, fabsf(similar[i]) >= 1, margin, legacy);
        for (k = i * wide; k < (i + 1) * wide; k++)
            diff[k] = (float)(slope * ((double)a[k] - (double)b[k]));
    }
    return 0;
}

static int backward(ferry_layer *layer)
{
    double factor;
    int i, err = ferry__loss_diff(layer, &factor);

    for (i = 0; !err && i < 2; i++)
        if (ferry_layer_propagates(layer, i))
            err = fill_diff(layer, i, i ? -factor : factor);
    return err;
}

static const char *const messages[] = { "contrastive_loss_param", NULL };

const ferry_layer_type ferry__contrastive_loss_layer = {
    .struct_size = sizeof ferry__contrastive_loss_layer,
    .name = "ContrastiveLoss",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_LOSS | FERRY_LAYER_AUTO_TOPS,
    .messages = messages,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
};
