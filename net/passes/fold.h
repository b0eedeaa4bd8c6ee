/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of an operation's weights and bias with affine functions of its channels in it.
 */
#ifndef FERRY_NET_PASSES_FOLD_H
#define FERRY_NET_PASSES_FOLD_H

#include "net/passes/passes.h"

#define FERRY__FOLD_STEPS 4

/* y = scale·x + shift, from the constants that there are. */
struct ferry__fold_step {
    uint32_t kind, function;
    double b, c;       /* UNARY: b·x + c */
    ferry_blob *u, *v; /* BINARY */
};

/*
 * The weights are rows × outputs × inner: one row but where the outputs are not the first axis. Rows
 * of one group have its outputs. `inputs` are the channels that steps before it are of; each is `span`
 * weights that follow one another, of its rows where there are several.
 */
struct ferry__fold {
    struct ferry__fold *next;
    ferry_layer *layer;
    int number; /* of the layer's operations */
    int64_t rows, outputs, inner, rows_of_group;
    int64_t inputs, span, outputs_of_group;
    ferry_blob *weights, *bias;                        /* what they are made of; no bias: NULL */
    struct ferry__fold_step step[FERRY__FOLD_STEPS];   /* behind it, in their order */
    struct ferry__fold_step before[FERRY__FOLD_STEPS]; /* before it, the nearest first */
    int n_steps, n_before;
    ferry_blob *made[2]; /* weights, bias */
    uint64_t version;    /* the sources' when they were made; 0: not yet */
};

#endif
