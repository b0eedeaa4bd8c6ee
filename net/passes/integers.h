/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The constants of a product that is computed with integers of 8 bits: its weights, symmetric with
 * a scale for each output, and the bias and the factors of its sums.
 */
#ifndef FERRY_NET_PASSES_INTEGERS_H
#define FERRY_NET_PASSES_INTEGERS_H

#include "net/passes/passes.h"

/*
 * The constants of a product with integers. If the scale of x is s, and that of the weights of
 * output o is r[o], then an integer sum of products n represents the number s·r[o]·n. The bias is
 * an integer in these units, and the factors convert the sums to multiples of `unit`.
 */
struct ferry__integers {
    struct ferry__integers *next;
    ferry_layer *layer;
    int number;                 /* the index among the layer's operations */
    ferry_operand w;            /* the weights as an operand of the operation */
    ferry_blob *weights, *bias; /* the sources; bias may be NULL */
    float x_scale, unit;
    float x_zero, add_zero; /* the zeros of the grids of x and of the operand of ADD, whose products
                             * and sums the bias cancels */
    ferry_blob *made[3];    /* weights (I8, plain; large ones have an origin), bias and factors
                             * (F32, one for each output) */
    uint64_t version;       /* the sources' version when the constants were computed; 0: not yet */
};

/*
 * Finds or makes the constants of a product, from its layer, number, weights, bias, scales,
 * unit and zeros in `like`. NULL: no memory.
 */
struct ferry__integers *ferry__integers_of(const struct ferry__integers *like);

#endif
