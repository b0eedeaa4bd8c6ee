/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EuclideanLoss: Σ (a − b)² / 2N, for two bottoms with N items each. (Caffe: EuclideanLossLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_blob *a = ferry_layer_bottom_at(layer, 0), *b = ferry_layer_bottom_at(layer, 1);

    if (ferry_blob_rank(a) < 1 || ferry_blob_rank(b) < 1 ||
        ferry_blob_dim(a, 0) != ferry_blob_dim(b, 0) ||
        ferry_blob_element_count(a) != ferry_blob_element_count(b))
        return ferry_layer_error(layer, FERRY_ESHAPE, "its bottoms have %lld and %lld elements",
                                 (long long)ferry_blob_element_count(a),
                                 (long long)ferry_blob_element_count(b));
    return ferry__loss_scalar(layer);
}

static int forward(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    const float *a = ferry_blob_host_data(bottom);
    const float *b = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    int64_t i, n = ferry_blob_element_count(bottom);
    double sum = 0;

    if (!a || !b)
        return ferry_last_error_code();
    for (i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return ferry__loss_store(layer, n ? sum / (2 * (double)ferry_blob_dim(bottom, 0)) : 0);
}

static int backward(ferry_layer *layer)
{
    const float *a = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *b = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    double factor;
    int64_t k;
    int i, err = a && b ? ferry__loss_diff(layer, &factor) : ferry_last_error_code();

    for (i = 0; !err && i < 2; i++) {
        ferry_blob *bottom = ferry_layer_bottom_at(layer, i);
        float *diff;

        if (!ferry_layer_propagates(layer, i) || !ferry_blob_element_count(bottom))
            continue;
        diff = ferry_blob_overwrite_host_diff(bottom);
        if (!diff)
            return ferry_last_error_code();
        for (k = 0; k < ferry_blob_element_count(bottom); k++)
            diff[k] = (float)((i ? -factor : factor) * ((double)a[k] - (double)b[k]) /
                              (double)ferry_blob_dim(bottom, 0));
    }
    return err;
}

const ferry_layer_type ferry__euclidean_loss_layer = {
    .struct_size = sizeof ferry__euclidean_loss_layer,
    .name = "EuclideanLoss",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_LOSS | FERRY_LAYER_AUTO_TOPS,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
};
