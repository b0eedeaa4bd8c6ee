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
    ferry_blob *made[2]; /* the copies: weights, bias; without weights: scales, shifts. They share
                          * the memory of `folded` */
    struct ferry__folded *folded; /* NULL: not yet */
    uint64_t version;             /* the sources' version when it was taken; 0: not yet */
};

/*
 * Computes the copies into `weights` and `bias`, of which either may be NULL. Only the sources and
 * the length of made[1] are read. FERRY_ENOMEM, the errors of reading the sources.
 */
int ferry__fold_compute(const struct ferry__fold *f, float *weights, float *bias);

/*
 * The fold of a layer whose copy of the weights is `made`, if that is only their multiplication by
 * a scale for each output, and outputs are axis 0; NULL otherwise.
 */
const struct ferry__fold *ferry__fold_of_outputs(const ferry_layer *layer, const ferry_blob *made);
/*
 * Computes these scales; `scales` has room for twice the length of made[1]. The errors of reading
 * the sources.
 */
int ferry__fold_scales(const struct ferry__fold *f, double *scales);

/* ---- folded.c ---- */

/*
 * The copies of a fold for the present contents of its sources, which do not change. Folds of
 * several nets with the same weights and equal functions have the same copies, so that these nets
 * also share packed forms. The copy of large weights is computed when it is packed (op/origin.h).
 */
struct ferry__folded;

/* Removes one fold's use. NULL is accepted. */
void ferry__folded_release(struct ferry__folded *folded);

#endif
