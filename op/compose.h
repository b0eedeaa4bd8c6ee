/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of operands for the operations of a composition. */
#ifndef FERRY_OP_COMPOSE_H
#define FERRY_OP_COMPOSE_H

#include "op/plan.h"

#include <ferry/op.h>

/* An operand with three axes and these strides. */
ferry_operand ferry__operand3(uint32_t dtype, const int64_t shape[3], const int64_t stride[3]);

/*
 * The stride, in elements, of the axes from `first` to before `end` as one merged axis; −1 if they
 * cannot be merged; 1 if there is no axis, or only one element.
 */
int64_t ferry__operand_collapse(const ferry_operand *o, uint32_t first, uint32_t end);

/* A vector with one element for each channel as an operand of y's rank: (1, C, 1, …). */
ferry_operand ferry__operand_per_channel(const ferry_operand *vector, uint32_t rank);

static inline struct ferry__binding ferry__bind(enum ferry__source source, uint32_t index)
{
    return (struct ferry__binding){ .source = source, .index = index };
}

/*
 * These are in compose_conv.c, with the results of ferry__compose. The second composes the gradient
 * of the weights.
 */
int ferry__compose_convolution(struct ferry__plan *plan, const ferry_op_desc *op);
int ferry__compose_weights(struct ferry__plan *plan, const ferry_op_desc *op);

/* Composes the backward passes (compose_backward.c), with the results of ferry__compose. */
int ferry__compose_backward(struct ferry__plan *plan, const ferry_op_desc *op);

/* Reduces x over `axes` into temporary memory, or adds to an output; *out describes the result. */
int ferry__compose_reduce(struct ferry__plan *plan, const ferry_operand *x,
                          struct ferry__binding from, uint32_t function, uint32_t axes,
                          double scale, struct ferry__binding to, ferry_operand *out);
/* Adds y = function(x, u). */
int ferry__compose_binary(struct ferry__plan *plan, uint32_t function, double b,
                          const ferry_operand *x, struct ferry__binding from,
                          const ferry_operand *u, struct ferry__binding with,
                          const ferry_operand *y, struct ferry__binding to);
/* The size of a packed copy of an operand, rounded up to a cache line. */
uint64_t ferry__compose_bytes(const ferry_operand *o);

#endif
