/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loop over the elements of operands of one shape with any strides: axes that are contiguous in
 * all of them are merged, and the innermost axis is the one with the smallest stride of the first
 * operand. The body processes one row at a time.
 */
#ifndef FERRY_CPU_OP_WALK_H
#define FERRY_CPU_OP_WALK_H

#include <ferry/op_desc.h>

#include "../workers.h"

#include <stdbool.h>

#define WALK_OPERANDS 4

struct cpu_walk {
    uint32_t rank, operands;
    int64_t count;                                /* the number of all elements */
    int64_t shape[FERRY_OP_AXES];                 /* the sizes of the axes, the innermost last */
    int64_t stride[WALK_OPERANDS][FERRY_OP_AXES]; /* in elements */
};

/*
 * Processes n elements. offset[] has the first element of each operand; walk_step gives the
 * strides.
 */
typedef void (*walk_body)(void *arg, const int64_t *offset, int64_t n);

/* Begins a walk over that shape, without operands. */
void walk_begin(struct cpu_walk *w, uint32_t rank, const int64_t *shape);
/* Adds an operand. The first operand determines the order of the axes. */
void walk_add(struct cpu_walk *w, const int64_t *stride);
/* Sorts and merges the axes; afterwards there is at least one axis. */
void walk_end(struct cpu_walk *w);
/* As walk_end, in the order of an operand other than the first. */
void walk_end_by(struct cpu_walk *w, uint32_t operand);
/*
 * Makes the longest axis the row if a row has fewer than `few` elements, because finding a row
 * takes as long as several elements. It does not if there are too many elements for a cache.
 */
void walk_lengthen(struct cpu_walk *w, int64_t few);
/*
 * Joins the two innermost axes to one row if the first operand's rows follow each other, have at
 * most `most` elements, and each other operand's rows are contiguous too, or one value, or repeat.
 * The bits of the operands that repeat are returned, and the length of their rows; their stride is
 * 0. 0: nothing was joined.
 */
uint32_t walk_join(struct cpu_walk *w, int64_t most, int64_t *out_period);
/* Like walk_end, but keeps the order of the axes. */
void walk_end_as_given(struct cpu_walk *w);

/* The stride of an operand within a row. */
static inline int64_t walk_step(const struct cpu_walk *w, uint32_t operand)
{
    return w->stride[operand][w->rank - 1];
}

/* The offset of element `element` of the walk in an operand. */
int64_t walk_at(const struct cpu_walk *w, uint32_t operand, int64_t element);

/*
 * The number of elements per piece of a loop over `count`; all of them if dividing the loop costs
 * more than it helps. As workers_piece, for few, expensive elements.
 */
int64_t walk_piece_of(int64_t count, int64_t bytes);
/* Processes elements first … first + count − 1, row by row, on this thread. */
void walk_some(const struct cpu_walk *w, int64_t first, int64_t count, walk_body body, void *arg);
/* Processes all elements; on all threads if an element takes as long as moving `bytes` bytes. */
void walk_all(const struct cpu_walk *w, struct workers *workers, int64_t bytes, walk_body body,
              void *arg);

#endif
