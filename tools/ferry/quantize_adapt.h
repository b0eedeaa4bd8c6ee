/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_QUANTIZE_ADAPT_H
#define FERRY_TOOL_QUANTIZE_ADAPT_H

#include "quantize.h"

/* Declarations shared by the files of --adaptive-rounding. */

/*
 * The most weights of an output that is rounded so: the sums and their decomposition take 24 bytes
 * for each pair.
 */
#define ADAPT_INPUTS 5120

/* The sums, over samples, of the products of the values that the weights of an output multiply. */
struct adapt_sums {
    int64_t inputs, count; /* of an output; of samples */
    double *xx;            /* inputs × inputs */
};

/* The weights of a group of outputs, outputs × inputs each. */
struct adapt_weights {
    int64_t outputs;
    const float *real;
    float *rounded;         /* the result, at which rounding by output changes nothing */
    double power;           /* of squares over the samples: of the outputs without their biases, */
    double nearest, chosen; /* and of their errors, with weights rounded to nearest, and the result
                             * */
};

/*
 * Rounds the weights of a group so that the squares of the outputs' errors over the samples are
 * small, and never larger than with rounding to nearest. The scale of an output is that of its
 * greatest weight. The result depends on the sums alone. Without samples, or with sums that are not
 * finite, it is rounded to nearest. Returns an exit status.
 */
int adapt_choose(const struct adapt_sums *s, struct adapt_weights *w);

/* ---- quantize_adapt_sums.c ---- */

/* A layer whose weights are rounded. */
struct adapt_layer {
    bool adapts, done; /* it can be rounded so; it has its weights */
    bool is_inner;
    int64_t inputs, outputs, groups; /* inputs and outputs of a group */
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    struct adapt_sums *sums; /* for each group; NULL: the present pass does not sum up the layer */
};

/* Reads the shapes of a layer; `adapts` says whether its weights can be rounded so. */
void adapt_describe(struct adapt_layer *a, const struct quantize *q, const ferry_layer *layer);
/* Allocates the sums. Returns an exit status; adapt_end frees them in any case. */
int adapt_begin(struct adapt_layer *a);
void adapt_end(struct adapt_layer *a);

/*
 * Adds samples of a batch, from the layer's input. Positions with values that are not finite are
 * left out. Returns an exit status.
 */
int adapt_add(struct adapt_layer *a, const struct quantize *q, const ferry_layer *layer);

#endif
