/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SigmoidCrossEntropyLoss (loss_param): −t · log σ(x) − (1 − t) · log(1 − σ(x)), x in bottom 0 and
 * t in bottom 1, summed over the positions whose target is not ignore_label, and divided according
 * to normalization (BATCH_SIZE). (Caffe: SigmoidCrossEntropyLossLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

#include <math.h>

static int setup(ferry_layer *layer)
{
    ferry__loss_read(layer, FERRY__NORMALIZE_BATCH_SIZE, ferry_layer_state(layer));
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t targets = ferry_blob_element_count(ferry_layer_bottom_at(layer, 1));
    struct ferry__loss *s = ferry_layer_state(layer);

    s->outer = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1;
    s->classes = 1;
    s->inner = s->outer ? ferry_blob_element_count(bottom) / s->outer : 0;
    if (targets != ferry_blob_element_count(bottom))
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld targets for %lld predictions",
                                 (long long)targets, (long long)ferry_blob_element_count(bottom));
    return ferry__loss_scalar(layer);
}

static int forward(ferry_layer *layer)
{
    const struct ferry__loss *s = ferry_layer_state(layer);
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *targets = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    int64_t i, valid = 0;
    double loss = 0;

    if (!x || !targets)
        return ferry_last_error_code();
    for (i = 0; i < s->outer * s->inner; i++) {
        double v = x[i];

        if (!ferry__loss_counts(s, targets[i]))
            continue;
        /* exp is only called with non-positive numbers, so it cannot overflow */
        loss -= v * (targets[i] - (v >= 0)) - log1p(exp(-fabs(v)));
        valid++;
    }
    return ferry__loss_store(layer, loss / ferry__loss_divisor(s, valid));
}

/* Writes the gradient: σ(x) − target, 0 for ignored positions. */
static int backward(ferry_layer *layer)
{
    const struct ferry__loss *s = ferry_layer_state(layer);
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *targets = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    int64_t i, n = s->outer * s->inner, valid = 0;
    double factor;
    float *diff;
    int err = x && targets ? ferry__loss_begin(layer, &factor, &diff) : ferry_last_error_code();

    if (err || !diff)
        return err;
    for (i = 0; i < n; i++)
        valid += ferry__loss_counts(s, targets[i]);
    factor /= ferry__loss_divisor(s, valid);
    for (i = 0; i < n; i++)
        diff[i] = ferry__loss_counts(s, targets[i])
                      ? (float)(factor * (1 / (1 + exp(-(double)x[i])) - (double)targets[i]))
                      : 0;
    return 0;
}

static const char *const messages[] = { "loss_param", NULL };

const ferry_layer_type ferry__sigmoid_cross_entropy_loss_layer = {
    .struct_size = sizeof ferry__sigmoid_cross_entropy_loss_layer,
    .name = "SigmoidCrossEntropyLoss",
    .state_size = sizeof(struct ferry__loss),
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .flags = FERRY_LAYER_LOSS | FERRY_LAYER_AUTO_TOPS | FERRY_LAYER_LABELS,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
};
