/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks over the elements of operands of one shape, row by row.
 */
#ifndef FERRY_KERNELS_WALK_H
#define FERRY_KERNELS_WALK_H

#include "kernels/args.h"
#include "kernels/dialect.h"

/*
 * The offset of element i in each operand; returns the number of elements from it to the end of its
 * row.
 */
INLINE i64 walk_to(const STRUCT walk *w, i64 i, OUT_ARRAY(i64, offset, WALK_OPERANDS))
{
    i64 left = w->shape[w->rank - 1] - i % w->shape[w->rank - 1];

    for (i64 k = 0; k < w->operands; k++)
        offset[k] = 0;
    for (i64 axis = w->rank - 1; axis >= 0; axis--) {
        i64 index = i % w->shape[axis];

        i /= w->shape[axis];
        for (i64 k = 0; k < w->operands; k++)
            offset[k] += index * w->stride[k].axis[axis];
    }
    return left;
}

/* The end of this group's elements. */
#define WALK_END(w) lesser((group() + 1) * (w)->piece, (w)->count)

/*
 * Loops over the item's elements in parts of rows: `offset[k]` is the beginning of a part and `n`
 * its length; the item processes elements 0, GROUP, 2 · GROUP, … of the part.
 */
#define EACH_PART(w)                                                                           \
    for (i64 end = WALK_END(w), i = group() * (w)->piece + item, n = 0, offset[WALK_OPERANDS]; \
         i < end && (n = walk_part(w, i, end, offset)) > 0; i += (n + GROUP - 1) / GROUP * GROUP)

/*
 * As EACH_PART, for a walk all of whose elements the group processes; a part has at most WALK_MOST
 * elements for each item.
 */
#define WALK_MOST 1024
#define EACH_PART_OF_ALL(w)                                                   \
    for (i64 end = (w)->count, i = item, n = 0, offset[WALK_OPERANDS];        \
         i < end && (n = walk_part(w, i, WALK_PART_END(i, end), offset)) > 0; \
         i += (n + GROUP - 1) / GROUP * GROUP)

#define WALK_PART_END(i, end) ((end) - (i) < WALK_MOST * GROUP ? (end) : (i) + WALK_MOST * GROUP)

INLINE i64 walk_part(const STRUCT walk *w, i64 i, i64 end, OUT_ARRAY(i64, offset, WALK_OPERANDS))
{
    i64 left = walk_to(w, i, offset);

    return left < end - i ? left : end - i;
}

/* The distance of operand k's elements in a row. */
#define WALK_STEP(w, k) ((w)->stride[k].axis[(w)->rank - 1])

#endif
