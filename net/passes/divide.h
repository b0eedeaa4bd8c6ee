/* SPDX-License-Identifier: BSD-2-Clause */
/* Which items of a stretch are divided among chains, by an estimate. */
#ifndef FERRY_NET_PASSES_DIVIDE_H
#define FERRY_NET_PASSES_DIVIDE_H

#include <ferry/op_table.h>

/* The work of an item; bytes and products for each image. */
struct ferry__divisible {
    int item;
    double in, out, products; /* products: the multiplications of a convolution or inner product */
    double weights;           /* bytes of constants, for any number of images */
    int64_t least;            /* the number of images that a sub-batch has at least */
};

/* Items `first` … `last` of the list, computed by `rounds` sub-batches of each chain. */
struct ferry__divided {
    int first, last;
    int64_t rounds;
};

/*
 * Chooses the divisions of `n` consecutive items with `images` images. `out` has room for n; it
 * gets those that are divided, in their order; the result is their number, or FERRY_ENOMEM.
 */
int ferry__divide_choose(const ferry_op_chains *device, const struct ferry__divisible *items, int n,
                         int64_t images, struct ferry__divided *out);

#endif
