/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HingeLoss (hinge_loss_param): max(0, 1 − x) for the label's class, max(0, 1 + x) for the others,
 * summed (norm: L1) or summed as squares (L2), divided by the number of entries. (Caffe:
 * HingeLossLayer.)
 */
#include "net/layers/loss.h"

#include <ferry/status.h>

#include <string.h>

struct hinge {
    int64_t entries, classes;
    bool squares;
};

static int setup(ferry_layer *layer)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "hinge_loss_param", 0);
    struct hinge *s = ferry_layer_state(layer);

    s->squares = !strcmp(ferry_proto_enum(p, "norm", 0), "L2");
    return 0;
}

static int reshape(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    int64_t labels = ferry_blob_element_count(ferry_layer_bottom_at(layer, 1));
    struct hinge *s = ferry_layer_state(layer);

    s->entries = ferry_blob_rank(bottom) ? ferry_blob_dim(bottom, 0) : 1;
    s->classes = s->entries ? ferry_blob_element_count(bottom) / s->entries : 0;
    if (labels != s->entries)
        return ferry_layer_error(layer, FERRY_ESHAPE, "%lld labels for %lld entries",
                                 (long long)labels, (long long)s->entries);
    return ferry__loss_scalar(layer);
}

static int forward(ferry_layer *layer)
{
    const struct hinge *s = ferry_layer_state(layer);
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    int64_t i, k, class;
    double sum = 0;

    if (!x || !labels)
        return ferry_last_error_code();
    for (i = 0; i < s->entries; i++) {
        if (ferry__loss_class(layer, labels[i], s->classes, &class))
            return FERRY_EINVAL;
        for (k = 0; k < s->classes; k++) {
            double value = x[i * s->classes + k], over = 1 + (k == class ? -value : value);

            if (over > 0)
                sum += s->squares ? over * over : over;
        }
    }
    return ferry__loss_store(layer, s->entries ? sum / (double)s->entries : 0);
}

/* The derivative of the loss by one value of a row with label `class`, before the division. */
static double slope(const struct hinge *s, double value, bool own)
{
    double sign = own ? -1 : 1, over = 1 + sign * value;

    if (!(over > 0)) /* a NaN adds nothing to the loss */
        return 0;
    return s->squares ? 2 * sign * over : sign;
}

static int backward(ferry_layer *layer)
{
    const struct hinge *s = ferry_layer_state(layer);
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    const float *labels = ferry_blob_host_data(ferry_layer_bottom_at(layer, 1));
    int64_t i, k, class;
    double factor;
    float *diff;
    int err = x && labels ? ferry__loss_begin(layer, &factor, &diff) : ferry_last_error_code();

    if (err || !diff)
        return err;
    for (i = 0; !err && i < s->entries; i++) {
        err = ferry__loss_class(layer, labels[i], s->classes, &class);
        for (k = i * s->classes; !err && k < (i + 1) * s->classes; k++)
            diff[k] =
                (float)(factor * slope(s, x[k], k == i * s->classes + class) / (double)s->entries);
    }
    return err;
}

static const char *const messages[] = { "hinge_loss_param", NULL };

const ferry_layer_type ferry__hinge_loss_layer = {
    .struct_size = sizeof ferry__hinge_loss_layer,
    .name = "HingeLoss",
    .state_size = sizeof(struct hinge),
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
