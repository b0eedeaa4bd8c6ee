/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MultinomialLogisticLoss: −log of bottom 0, probabilities clamped to at least 1e−20, at the label,
 * averaged over the entries. (Caffe: MultinomialLogisticLossLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t entries = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1;
    int64_t labels = ferry_blob_element_count(ferry_layer_bottom_at(layer, 1));

    if (labels != entries)
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld labels for %lld entries",
                                 (long long)labels, (long long)entries);
    return ferry__loss_scalar(layer);
}

static int forward(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t entries = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1, i, class;
    int64_t classes = entries ? ferry_blob_element_count(bottom) / entries : 0;
    const float *p = ferry_blob_host_data(bottom);
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    double loss = 0;

    if (!p || !labels)
        return ferry_last_error_code();
    for (i = 0; i < entries; i++) {
        if (ferry__loss_class(layer, labels[i], classes, &class))
            return FERRY_EINVAL;
        loss -= log(ferry__loss_at_least(p[i * classes + class]));
    }
    return ferry__loss_store(layer, entries ? loss / (double)entries : 0);
}

static int backward(ferry_layer *layer)
{
    ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t entries = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1, i, class;
    int64_t classes = entries ? ferry_blob_element_count(bottom) / entries : 0;
    const float *p = ferry_blob_host_data(bottom);
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    double factor;
    float *diff;
    int err = p && labels ? ferry__loss_begin(layer, &factor, &diff) : ferry_last_error_code();

    if (err || !diff)
        return err;
    memset(diff, 0, (size_t)ferry_blob_element_count(bottom) * sizeof *diff);
    for (i = 0; !err && i < entries; i++) {
        err = ferry__loss_class(layer, labels[i], classes, &class);
        if (!err)
            diff[i * classes + class] =
                (float)(-factor / (double)entries / ferry__loss_at_least(p[i * classes + class]));
    }
    return err;
}

const ferry_layer_type ferry__multinomial_logistic_loss_layer = {
    .struct_size = sizeof ferry__multinomial_logistic_loss_layer,
    .name = "MultinomialLogisticLoss",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_LOSS | FERRY_LAYER_AUTO_TOPS | FERRY_LAYER_LABELS,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
};
