/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LSTMUnit: one step of an LSTM's cells. Bottoms: the previous c (1 × N × D), sums of the gates i,
 * f, o, g (1 × N × 4D), cont (1 × N). Tops: c, h. (Caffe: LSTMUnitLayer.)
 */
#include "net/layers/recurrent.h"

#include <ferry/status.h>

static int reshape(ferry_layer *layer)
{
    const ferry_blob *c = ferry_layer_bottom_at(layer, 0), *x = ferry_layer_bottom_at(layer, 1);
    int i, err = 0;

    if (ferry_blob_rank(c) != 3 || ferry_blob_rank(x) != 3 || ferry_blob_dim(c, 0) != 1 ||
        ferry_blob_dim(x, 0) != 1 || ferry_blob_dim(x, 1) != ferry_blob_dim(c, 1) ||
        ferry_blob_dim(x, 2) != 4 * ferry_blob_dim(c, 2) ||
        ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)) != ferry_blob_dim(c, 1))
        return ferry_layer_error(
            layer, FERRY_ESHAPE,
            "its bottoms have %lld, %lld and %lld elements; 1 × N × D, 1 × N × 4D and 1 × N are "
            "required",
            (long long)ferry_blob_element_count(c), (long long)ferry_blob_element_count(x),
            (long long)ferry_blob_element_count(ferry_layer_bottom_at(layer, 2)));
    for (i = 0; !err && i < 2; i++)
        err = ferry__top_like(layer, i, c);
    return err;
}

static int forward(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t n, streams = ferry_blob_dim(bottom, 1), d = ferry_blob_dim(bottom, 2);
    const float *before = ferry_blob_host_data(bottom);
    const float *gates = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *cont = ferry_blob_host_data(ferry_layer_bottom_at(layer, 2));
    float *c = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));
    float *h = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 1));

    if (!before || !gates || !cont || !c || !h)
        return ferry_last_error_code();
    for (n = 0; n < streams; n++)
        ferry__lstm_step(d, cont[n], &gates[n * 4 * d], &before[n * d], &c[n * d], &h[n * d]);
    return 0;
}

/* Writes both gradients, even if only one is needed; the diff that is not needed is not used. */
static int backward(ferry_layer *layer)
{
    ferry_blob *bottom = ferry_layer_bottom_at(layer, 0), *sums = ferry_layer_bottom_at(layer, 1);
    int64_t n, streams = ferry_blob_dim(bottom, 1), d = ferry_blob_dim(bottom, 2);
    const float *before = ferry_blob_host_data(bottom);
    const float *gates = ferry_blob_host_data(sums);
    const float *cont = ferry_blob_host_data(ferry_layer_bottom_at(layer, 2));
    const float *dc = ferry_blob_host_diff(ferry_layer_top_at(layer, 0));
    const float *dh = ferry_blob_host_diff(ferry_layer_top_at(layer, 1));
    float *d_before = ferry_blob_overwrite_host_diff(bottom);
    float *d_gates = ferry_blob_overwrite_host_diff(sums);

    if (!before || !gates || !cont || !dc || !dh || !d_before || !d_gates)
        return ferry_last_error_code();
    for (n = 0; n < streams; n++)
        ferry__lstm_step_back(d, cont[n], &gates[n * 4 * d], &before[n * d], &dc[n * d], &dh[n * d],
                              &d_gates[n * 4 * d], &d_before[n * d]);
    return 0;
}

static const char *refuses(const ferry_layer *layer, int index)
{
    (void)layer;
    return index == 2 ? "Layer: Cannot backpropagate to sequence indicators." : NULL;
}

const ferry_layer_type ferry__lstm_unit_layer = {
    .struct_size = sizeof ferry__lstm_unit_layer,
    .name = "LSTMUnit",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 2,
    .max_tops = 2,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
    .refuses = refuses,
};
