/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of an operation's weights and bias into which affine functions of channels are folded; or,
 * without weights, several such functions combined into one scale and one shift per channel.
 */
#ifndef FERRY_NET_PASSES_FOLD_H
#define FERRY_NET_PASSES_FOLD_H

#include "common/affine.h"
#include "net/passes/passes.h"

#define FERRY__FOLD_STEPS 4

/* One step y = scale·x + shift, with the constants of its operation. */
struct ferry__fold_step {
    uint32_t kind, function;
    double b, c;       /* for UNARY, which computes b·x + c */
    ferry_blob *u, *v; /* for BINARY */
};

/*
 * `inputs` is the number of input channels, to which steps before the operation apply. Each input
 * channel has `span` consecutive weights or, if the weights have several rows, `span` rows.
 */
struct ferry__fold {
    struct ferry__fold *next;
    ferry_layer *layer;
    int number; /* the index among the layer's operations */
    struct ferry__weight_order order;
    int64_t inputs, span, outputs_of_group;
    ferry_blob *weights, *bias;                        /* the sources, or NULL */
    struct ferry__fold_step step[FERRY__FOLD_STEPS];   /* steps after the operation, in order */
    struct ferry__fold_step before[FERRY__FOLD_STEPS]; /* steps before the operation, the nearest
                                                        * first */
    int n_steps, n_before;
    ferry_blob *made[2]; /* the copies: weights, bias; without weights: scales, shifts */
    uint64_t version;    /* the sources' version when the copies were computed; 0: not yet */
};

#endif
