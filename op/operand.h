/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory layout of operands. */
#ifndef FERRY_OP_OPERAND_H
#define FERRY_OP_OPERAND_H

#include <ferry/op.h>
#include <stdbool.h>

/* The number of elements of an operand whose shape has been checked. */
int64_t ferry__operand_count(const ferry_operand *o);

/* The product of the axes from `first` to before `end`, of a checked shape. */
int64_t ferry__operand_count_range(const ferry_operand *o, uint32_t first, uint32_t end);

/* Whether both have the same rank and the same dimensions. */
bool ferry__operand_same_shape(const ferry_operand *a, const ferry_operand *b);

/* Whether both have the same layout: shape, dtype, and the strides of axes longer than 1. */
bool ferry__operand_same(const ferry_operand *a, const ferry_operand *b);

/*
 * Whether no two elements share memory, as far as this test sees; it recognizes all layouts of
 * nested axes.
 */
bool ferry__operand_is_apart(const ferry_operand *o);

/*
 * The axis whose stride is smaller than the extent of the axes within it; −1: no such axis.
 * *out_room is that extent.
 */
int ferry__operand_overlap(const ferry_operand *o, int64_t *out_room);

/*
 * Checks dtype, rank, dimensions and strides, and that count and extent in bytes fit 63 bits.
 * `what` names the operand in messages ("convolution: in[1]"). FERRY_EINVAL, FERRY_EOVERFLOW.
 */
int ferry__operand_check(const ferry_operand *o, const char *what, bool may_repeat);

/* Prints "2x3x4" into `buf`, which has FERRY__SHAPE_TEXT bytes; returns it. */
#define FERRY__SHAPE_TEXT 168
const char *ferry__operand_text(const ferry_operand *o, char *buf);

#endif
