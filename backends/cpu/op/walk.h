/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loop over the elements of operands of one shape, whatever their strides: axes that lie behind
 * one another in all of them become one, and the innermost is the one that the first operand has
 * closest together. What is done a row at a time.
 */
#ifndef FERRY_CPU_OP_WALK_H
#define FERRY_CPU_OP_WALK_H

#include <ferry/op_types.h>

#include "../workers.h"

#include <stdbool.h>

#define WALK_OPERANDS 4

struct cpu_walk {
    uint32_t rank, operands;
    int64_t count;                                /* elements in all */
    int64_t shape[FERRY_OP_AXES];                 /* the innermost last */
    int64_t stride[WALK_OPERANDS][FERRY_OP_AXES]; /* elements */
};

/* Does n elements from offset[] on, in elements of each operand; strides: walk_step. */
typedef void (*walk_body)(void *arg, const int64_t *offset, int64_t n);

/* Begins a walk over that shape, without operands. */
void walk_begin(struct cpu_walk *w, uint32_t rank, const int64_t *shape);
/* Adds an operand. The first decides the order. */
void walk_add(struct cpu_walk *w, const int64_t *stride);
/* Orders and merges axes: there is at least one then. */
void walk_end(struct cpu_walk *w);
/* The same in the order of another operand than the first. */
void walk_end_by(struct cpu_walk *w, uint32_t operand);
/* As walk_end, but the axes stay in their order. */
void walk_end_as_given(struct cpu_walk *w);

/* The stride of an operand within a row. */
static inline int64_t walk_step(const struct cpu_walk *w, uint32_t operand)
{
    return w->stride[operand][w->rank - 1];
}

/* Where element `element` of the walk lies in an operand. */
int64_t walk_at(const struct cpu_walk *w, uint32_t operand, int64_t element);

/*
 * Elements to a piece of a loop over `count`, all where it is not worth cutting: as workers_piece,
 * but they may be few, and dear.
 */
int64_t walk_piece_of(int64_t count, int64_t bytes);
/* Does elements first … first + count − 1, row by row, on this thread. */
void walk_some(const struct cpu_walk *w, int64_t first, int64_t count, walk_body body, void *arg);
/* Does all of it; on all threads where elements cost `bytes` each to move, or as much time as that. */
void walk_all(const struct cpu_walk *w, struct workers *workers, int64_t bytes, walk_body body,
              void *arg);

#endif
