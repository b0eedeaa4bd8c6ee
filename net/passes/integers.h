/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The constants of a product that is computed with integers of 8 bits: its weights, symmetric with
 * a scale for each output, and the bias and the factors of its sums.
 */
#ifndef FERRY_NET_PASSES_INTEGERS_H
#define FERRY_NET_PASSES_INTEGERS_H

#include "net/passes/passes.h"

/*
 * With s the scale of x and r[o] that of the weights of output o, a sum of products represents
 * s·r[o] times itself. The bias is in units of the sums, and factors lead to multiples of `unit`.
 */
struct ferry__integers {
    struct ferry__integers *next;
    ferry_layer *layer;
    int number;                 /* the index among the layer's operations */
    ferry_operand w;            /* the weights as the operation reads them */
    ferry_blob *weights, *bias; /* the sources; bias may be NULL */
    float x_scale, unit;
    ferry_blob *made[3]; /* weights (I8, plain), bias and factors (F32, one for each output) */
    uint64_t version;    /* the sources' version when they were computed; 0: not yet */
};

/*
 * Finds or makes the constants of a product, from its layer, number, weights, bias, x_scale and
 * unit in `like`. NULL: no memory.
 */
struct ferry__integers *ferry__integers_of(ferry_net *net, const struct ferry__integers *like);

#endif
