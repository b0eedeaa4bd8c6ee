/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classes of values that are stored as integers.
 *
 * Max pooling and concatenation do not change the scale, so the values that they connect form a
 * class with one scale. A class is stored as integers if a product reads or adds it, and only
 * products with integers, pooling, copies, and scales and shifts of channels (BatchNorm before a
 * product) write it. A class that averages, and scales and shifts of channels, read is stored too
 * if they write integers, no other item would need a copy of it, and its values have similar
 * ranges.
 */
#ifndef FERRY_NET_PASSES_QUANTIZE_CLASSES_H
#define FERRY_NET_PASSES_QUANTIZE_CLASSES_H

#include "net/model/ranges.h"
#include "net/passes/passes.h"

/* The grid of a value that is stored as F32. */
extern const struct ferry__grid ferry__reals;

/* The state of a value. */
struct ferry__member {
    int of;              /* the parent in the tree of its class (union-find); the first value of
                          * a class is its own parent */
    bool is_member;      /* it may be stored as integers */
    bool is_stored;      /* for a class: its values are stored as integers */
    bool is_optional;    /* for a stored class: no product reads or adds it */
    bool is_padded;      /* a reader of it, or of its class, reads padding */
    float least, most;   /* for a class: its range */
    float narrowest;     /* for a class: the width of the narrowest range of its values */
    int integers, reals; /* the indices of its copies as integers and as F32; −1: none */
};

/* How the device executes an item that scales and shifts channels. */
enum ferry__affine {
    FERRY__AFFINE_NOT,
    FERRY__AFFINE_OF_REALS, /* copies it from F32 to integers */
    FERRY__AFFINE_OF_BOTH   /* from integers, too */
};

struct ferry__quantizer {
    struct ferry__program *p;
    struct ferry__member *values;
    int n_values;               /* the number of values that existed before the pass */
    enum ferry__affine *affine; /* for each item */
};

/* The range of the contents of an F32 value; false if it is not known. */
bool ferry__value_range(const struct ferry__program *p, int value, float *least, float *most);
/* Whether no item from `at` on writes a value, of the items before the pass. */
bool ferry__value_is_final(const struct ferry__program *p, int at, int value);

/*
 * Forms the classes and chooses those to store; `products` has for each item whether it can be a
 * product with integers, and loses those that would not gain.
 */
void ferry__classes_choose(struct ferry__quantizer *q, bool *products);
/* Whether a value is stored as integers; *out is its grid, or the grid of F32 values. */
bool ferry__value_is_stored(const struct ferry__quantizer *q, int value, struct ferry__grid *out);

#endif
