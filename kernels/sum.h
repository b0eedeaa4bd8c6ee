/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of rows: the items of a group share a row and add their partial sums.
 */
#ifndef FERRY_KERNELS_SUM_H
#define FERRY_KERNELS_SUM_H

#include "kernels/walk.h"

/* A sum that keeps its rounding error (Neumaier's). */
struct exact {
    f32 sum, rest;
};

INLINE STRUCT exact exact_add(STRUCT exact e, f32 x)
{
    STRUCT exact r;

    r.sum = e.sum + x;
    r.rest = e.rest + (abs1(e.sum) >= abs1(x) ? e.sum - r.sum + x : x - r.sum + e.sum);
    return r;
}

/* With an infinity the rounding error is NaN and is dropped. */
INLINE f32 exact_value(STRUCT exact e)
{
    return abs1(e.sum) <= 3.402823466e+38f ? e.sum + e.rest : e.sum;
}

/*
 * The sum with its rounding error added, as far as the sum has bits for it. A loop calls this
 * function after at most SUM_PART terms, because the error of more terms may become so large that
 * adding to it rounds as well.
 */
#define SUM_PART       WALK_MOST
#define IS_SUM_PART(k) ((k) / GROUP % SUM_PART == 0) /* whether a part begins at k */

INLINE STRUCT exact exact_settled(STRUCT exact e)
{
    STRUCT exact r;

    r.sum = exact_value(e);
    r.rest = e.rest - (r.sum - e.sum);
    return r;
}

/* Combines the items' sums into the group's sum `e`; `left` has the rounding error of each. */
#define JOINED(e, found, left)            \
    do {                                  \
        e.sum = found[0];                 \
        e.rest = left[0];                 \
        for (i64 k = 1; k < GROUP; k++) { \
            e = exact_add(e, found[k]);   \
            e.rest += left[k];            \
        }                                 \
    } while (0)

#define EACH_ROW(r)                                                                               \
    for (i64 r = group() * a->rows.piece; r < (group() + 1) * a->rows.piece && r < a->rows.count; \
         r++)

#endif
