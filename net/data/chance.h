/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a stream of records leaves to chance. Each number is that of its key, of what is decided, and of the
 * record or round for which it is: a stream that is read from its middle decides as if it had been read from
 * its beginning.
 */
#ifndef FERRY_NET_DATA_CHANCE_H
#define FERRY_NET_DATA_CHANCE_H

#include <stdint.h>

/* What is decided. */
enum ferry__chance_of {
    FERRY__CHANCE_PICTURE, /* where a record is cropped, whether it is turned */
    FERRY__CHANCE_ORDER,   /* the order of the items of a round */
    FERRY__CHANCE_INNER    /* the order within one of them */
};

struct ferry__chance {
    uint64_t state, drawn;
};

/* The numbers for decision `of` of a stream at record or round `index`. */
struct ferry__chance ferry__chance(uint64_t key, enum ferry__chance_of of, uint64_t index);

/* The next one, 0 … below − 1. `below` is at least 1. */
uint64_t ferry__chance_next(struct ferry__chance *chance, uint64_t below);

/* Fills `order` with 0 … n − 1, each order as likely as another. */
void ferry__chance_order(struct ferry__chance chance, int64_t *order, int64_t n);

#endif
