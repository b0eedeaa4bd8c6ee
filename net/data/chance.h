/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reproducible random numbers for a stream of records. Each number depends only on the key, the
 * kind of decision, and the record or epoch: a stream that is read from the middle gets the same
 * numbers as one that is read from the beginning.
 */
#ifndef FERRY_NET_DATA_CHANCE_H
#define FERRY_NET_DATA_CHANCE_H

#include <stdint.h>

/* The kind of decision. */
enum ferry__chance_of {
    FERRY__CHANCE_PICTURE, /* the crop position of a record, and whether it is mirrored */
    FERRY__CHANCE_ORDER,   /* the order of the items in an epoch */
    FERRY__CHANCE_INNER    /* the order within one item */
};

struct ferry__chance {
    uint64_t state, drawn;
};

/* The random numbers for decision `of` of a stream at record or epoch `index`. */
struct ferry__chance ferry__chance(uint64_t key, enum ferry__chance_of of, uint64_t index);

/* The next random number, 0 … below − 1. `below` is at least 1. */
uint64_t ferry__chance_next(struct ferry__chance *chance, uint64_t below);

/* Fills `order` with a random permutation of 0 … n − 1; all permutations are equally likely. */
void ferry__chance_order(struct ferry__chance chance, int64_t *order, int64_t n);

#endif
