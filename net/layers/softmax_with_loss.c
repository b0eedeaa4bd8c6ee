/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SoftmaxWithLoss (softmax_param, loss_param): −log of the softmax along `axis` (1) at the label,
 * at least FLT_MIN, summed over the positions whose label is not ignore_label, and divided
 * according to normalization (VALID). A second top gets the softmax. (Caffe: SoftmaxWithLossLayer,
 * which ends the program if there is a second top and a loss_weight.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

#include <float.h>
#include <math.h>

static int setup(ferry_layer *layer)
{
    /* Caffe logs this line for its inner softmax layer, which has the same name. */
    ferry_log_write(FERRY_LOG_INFO, "Creating layer %s", ferry_layer_name(layer));
    ferry__loss_read(layer, FERRY__NORMALIZE_VALID, ferry_layer_state(layer));
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "softmax_param", 0);
    struct ferry__loss *s = ferry_layer_state(layer);
    int axis, err;

    err = ferry__axis_of(layer, p, "axis", ferry_proto_integer(p, "axis", 0),
                         ferry_blob_rank(ferry_layer_bottom_at(layer, 0)), &axis);
    if (!err)
        err = ferry__loss_around(layer, axis, s);
    if (!err)
        err = ferry__loss_scalar(layer);
    return err ? err : ferry__loss_softmax(layer, axis);
}

static int forward(ferry_layer *layer)
{
    const struct ferry__loss *s = ferry_layer_state(layer);
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *probabilities = ferry__loss_probabilities(layer);
    int64_t i, k, class, valid = 0;
    double loss = 0;

    if (!labels || !probabilities)
        return ferry_last_error_code();
    for (i = 0; i < s->outer; i++)
        for (k = 0; k < s->inner; k++) {
            float label = labels[i * s->inner + k], p;

            if (!ferry__loss_counts(s, label))
                continue;
            if (ferry__loss_class(layer, label, s->classes, &class))
                return FERRY_EINVAL;
            p = probabilities[(i * s->classes + class) * s->inner + k];
            loss -= log(p < FLT_MIN ? (double)FLT_MIN : (double)p); /* the comparison is false for
                                                                     * NaN, so a NaN stays a NaN */
            valid++;
        }
    return ferry__loss_store(layer, loss / ferry__loss_divisor(s, valid));
}

/*
 * Writes the gradient: the probabilities, minus 1 at the label, and zeros at ignored positions;
 * returns the number of counted positions.
 */
static int fill_diff(const ferry_layer *layer, const float *p, const float *labels, float *diff,
                     int64_t *out_valid)
{
    const struct ferry__loss *s = ferry_layer_state((ferry_layer *)layer);
    int64_t i, k, c, class;

    for (i = 0; i < s->outer; i++)
        for (k = 0; k < s->inner; k++) {
            float label = labels[i * s->inner + k];
            bool counts = ferry__loss_counts(s, label);
            int64_t at = i * s->classes * s->inner + k;

            if (counts && ferry__loss_class(layer, label, s->classes, &class))
                return FERRY_EINVAL;
            for (c = 0; c < s->classes; c++)
                diff[at + c * s->inner] = counts ? p[at + c * s->inner] : 0;
            if (counts)
                diff[at + class * s->inner] -= 1;
            *out_valid += counts;
        }
    return 0;
}

static int backward(ferry_layer *layer)
{
    const struct ferry__loss *s = ferry_layer_state(layer);
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    const float *probabilities = ferry__loss_probabilities(layer);
    int64_t valid = 0;
    double factor;
    float *diff;
    int err = labels && probabilities ? ferry__loss_begin(layer, &factor, &diff)
                                      : ferry_last_error_code();

    if (err || !diff)
        return err;
    err = fill_diff(layer, probabilities, labels, diff, &valid);
    if (!err)
        ferry__loss_scale(s, valid, factor, diff);
    return err;
}

static const char *const messages[] = { "softmax_param", "loss_param", NULL };

const ferry_layer_type ferry__softmax_with_loss_layer = {
    .struct_size = sizeof ferry__softmax_with_loss_layer,
    .name = "SoftmaxWithLoss",
    .state_size = sizeof(struct ferry__loss),
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .flags = FERRY_LAYER_LOSS | FERRY_LAYER_AUTO_TOPS | FERRY_LAYER_LABELS,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
    .backward = backward,
};
