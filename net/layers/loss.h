/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by losses: loss_param, the ignored label, the divisor of the sum, and the axis of the
 * probabilities.
 */
#ifndef FERRY_NET_LAYERS_LOSS_H
#define FERRY_NET_LAYERS_LOSS_H

#include "net/layers/layers.h"

enum ferry__normalization {
    FERRY__NORMALIZE_FULL, /* all positions */
    FERRY__NORMALIZE_VALID,
    FERRY__NORMALIZE_BATCH_SIZE,
    FERRY__NORMALIZE_NONE
};

struct ferry__loss {
    enum ferry__normalization normalization;
    bool ignores;
    int64_t ignored;               /* the ignored label */
    int64_t outer, classes, inner; /* bottom 0 split around the class axis */
};

/* Reads loss_param; `otherwise` is the default, `normalize: true` means VALID. */
void ferry__loss_read(const ferry_layer *layer, enum ferry__normalization otherwise,
                      struct ferry__loss *out);

/*
 * Splits bottom 0 around `axis` and checks that bottom 1 has a label for each position.
 * FERRY_ESHAPE.
 */
int ferry__loss_around(const ferry_layer *layer, int axis, struct ferry__loss *out);

/*
 * A probability clamped to at least 1e−20, before its logarithm is taken; a NaN stays a NaN.
 * (Caffe: kLOG_THRESHOLD.)
 */
static inline double ferry__loss_at_least(double p)
{
    return p < 1e-20 ? 1e-20 : p;
}

/* The divisor of the sum over `valid` positions: at least 1. */
double ferry__loss_divisor(const struct ferry__loss *loss, int64_t valid);

/* Whether the label is not ignored. */
bool ferry__loss_counts(const struct ferry__loss *loss, float label);

/* Converts the label to a class; FERRY_EINVAL, with the label, if it is out of range. */
int ferry__loss_class(const ferry_layer *layer, float label, int64_t classes, int64_t *out);

/* Makes top 0 a scalar. */
int ferry__loss_scalar(ferry_layer *layer);
int ferry__loss_store(ferry_layer *layer, double loss);

/* The factor at which backward starts: the diff of top 0. */
int ferry__loss_diff(const ferry_layer *layer, double *out);

/* As ferry__loss_diff, and accesses bottom 0's diff; *out_diff is NULL if no gradient is needed. */
int ferry__loss_begin(ferry_layer *layer, double *out_factor, float **out_diff);

/* Multiplies bottom 0's diff by the factor and divides it by the divisor of the loss. */
void ferry__loss_scale(const struct ferry__loss *loss, int64_t valid, double factor, float *diff);

/*
 * Emits the softmax of bottom 0 along `axis`, into top 1 if there is one, otherwise into scratch
 * blob 0; returns the operand.
 */
int ferry__loss_softmax(ferry_layer *layer, int axis);
const float *ferry__loss_probabilities(const ferry_layer *layer);

#endif
