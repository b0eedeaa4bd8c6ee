/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the elements of an operand lie.
 */
#ifndef FERRY_OP_OPERAND_H
#define FERRY_OP_OPERAND_H

#include <ferry/op.h>
#include <stdbool.h>

/* Elements of an operand whose shape has been checked. */
int64_t ferry__operand_count(const ferry_operand *o);

/* The product of the axes from `first` to before `end`; checked likewise. */
int64_t ferry__operand_count_range(const ferry_operand *o, uint32_t first, uint32_t end);

/* Whether both have the same rank and the same dimensions. */
bool ferry__operand_same_shape(const ferry_operand *a, const ferry_operand *b);

/* Whether both lie alike: shape, strides where a dimension is not 1, dtype. */
bool ferry__operand_same(const ferry_operand *a, const ferry_operand *b);

/* Whether no two elements share a place. Sufficient for every layout that is a nest of axes. */
bool ferry__operand_is_apart(const ferry_operand *o);

/* The axis whose stride is less than the axes within it reach over, which *out_room gets; −1: none. */
int ferry__operand_overlap(const ferry_operand *o, int64_t *out_room);

/*
 * dtype, rank, dimensions, strides, and that count and reach fit 63 bits of bytes. `what` names the
 * operand in messages ("convolution: in[1]"). FERRY_EINVAL, FERRY_EOVERFLOW.
 */
int ferry__operand_check(const ferry_operand *o, const char *what, bool may_repeat);

/* "2x3x4" in `buf`, which holds FERRY__SHAPE_TEXT bytes; returns it. */
#define FERRY__SHAPE_TEXT 168
const char *ferry__operand_text(const ferry_operand *o, char *buf);

#endif
