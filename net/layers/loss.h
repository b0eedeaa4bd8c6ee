/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What losses share: loss_param, which labels do not count, what the sum is divided by, and where the
 * probabilities are.
 */
#ifndef FERRY_NET_LAYERS_LOSS_H
#define FERRY_NET_LAYERS_LOSS_H

#include "net/layers/layers.h"

enum ferry__normalization {
    FERRY__NORMALIZE_FULL, /* all places */
    FERRY__NORMALIZE_VALID,
    FERRY__NORMALIZE_BATCH_SIZE,
    FERRY__NORMALIZE_NONE
};

struct ferry__loss {
    enum ferry__normalization normalization;
    bool ignores;
    int64_t ignored;               /* the label that does not count */
    int64_t outer, classes, inner; /* bottom 0 around the axis of classes */
};

/* Reads loss_param; `otherwise` holds where it says nothing, `normalize: true` means VALID. */
void ferry__loss_read(const ferry_layer *layer, enum ferry__normalization otherwise,
                      struct ferry__loss *out);

/* Bottom 0 around `axis`, with a label in bottom 1 for each place. FERRY_ESHAPE. */
int ferry__loss_around(const ferry_layer *layer, int axis, struct ferry__loss *out);

/* By what the sum over `valid` places is divided: 1 at the least. */
double ferry__loss_divisor(const struct ferry__loss *loss, int64_t valid);

/* Whether the label counts. */
bool ferry__loss_counts(const struct ferry__loss *loss, float label);

/* The label as a class; FERRY_EINVAL, which names it, for one that is none. */
int ferry__loss_class(const ferry_layer *layer, float label, int64_t classes, int64_t *out);

/* Top 0 is a scalar. */
int ferry__loss_scalar(ferry_layer *layer);
int ferry__loss_store(ferry_layer *layer, double loss);

/* What backward begins with: the diff of top 0. */
int ferry__loss_diff(const ferry_layer *layer, double *out);

/* The same, and room for bottom 0's diff; *out_diff is NULL where nobody wants that. */
int ferry__loss_begin(ferry_layer *layer, double *out_factor, float **out_diff);

/* Multiplies bottom 0's diff by the factor, and divides it as the sum over `valid` places was. */
void ferry__loss_scale(const struct ferry__loss *loss, int64_t valid, double factor, float *diff);

/*
 * Emits the softmax of bottom 0 along `axis`, into top 1 where there is one, else into scratch blob 0;
 * where it is afterwards.
 */
int ferry__loss_softmax(ferry_layer *layer, int axis);
const float *ferry__loss_probabilities(const ferry_layer *layer);

#endif
