/* SPDX-License-Identifier: BSD-2-Clause */
/* The items that quantize.c treats: products, poolings and copies. */
#ifndef FERRY_NET_PASSES_QUANTIZE_ITEMS_H
#define FERRY_NET_PASSES_QUANTIZE_ITEMS_H

#include "net/model/ranges.h"
#include "net/passes/passes.h"

/* Whether an item is an operation of that kind, of the forward pass. */
bool ferry__item_is(const struct ferry__item *item, uint32_t kind);
/* Whether it pools by that method, or copies, in F32 and without an epilogue. */
bool ferry__item_is_pool(const struct ferry__item *item, uint32_t method);
bool ferry__item_is_copy(const struct ferry__item *item);
/* Whether a convolution, or an average, reads padding: zeros that are not in its input. */
bool ferry__item_pads(const struct ferry__item *item);

/*
 * Examines the steps of a product: *out_add is the operand that ADD adds, or −1; returns whether
 * all other steps are scalable.
 */
bool ferry__product_steps(const ferry_op_desc *op, int *out_add);
/* Whether the operation has room for the constants, a SCALE step, and a factor at its end. */
bool ferry__product_has_room(const ferry_op_desc *op);
/* Whether its weights and bias are whole parameters, and all is F32. */
bool ferry__product_has_constants(const struct ferry__item *item);
/*
 * Describes a product with integers as an operation. `in`, `out` and `add` are the grids of x, of y
 * and of the operand of ADD. The factors convert sums to multiples of *out_unit.
 */
void ferry__product_describe(const struct ferry__item *item, struct ferry__grid in,
                             struct ferry__grid out, struct ferry__grid add, ferry_op_desc *op,
                             float *out_unit);
/* Whether the device computes the operation itself, and is faster with integers. */
int ferry__product_gains(const struct ferry__item *item, const ferry_op_desc *op, bool *out);

/*
 * Whether an item is a scale and a shift of each channel of a value, and no more than bounds after
 * it, into another value: BatchNorm, Scale and ReLU.
 */
bool ferry__item_is_affine(const struct ferry__program *p, const struct ferry__item *item);
/*
 * Describes such an item as a copy from the grid `in`, which may be that of F32 values, to
 * integers; false if that takes more steps than an operation has.
 */
bool ferry__affine_describe(const struct ferry__program *p, const struct ferry__item *item,
                            struct ferry__grid in, struct ferry__grid out, ferry_op_desc *op);

#endif
