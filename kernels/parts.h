/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files that plan share, and the kinds by file: each adds its launches to the plan, whose
 * operation is filled in, and says what query answers. 0 or FERRY_EUNSUPPORTED.
 */
#ifndef FERRY_KERNELS_PARTS_H
#define FERRY_KERNELS_PARTS_H

#include "kernels/plan.h"

int plan_copy(struct kernel_plan *p); /* plan_element.c */
int plan_unary(struct kernel_plan *p);
int plan_binary(struct kernel_plan *p);
int plan_pool(struct kernel_plan *p);        /* plan_window.c */
int plan_convolution(struct kernel_plan *p); /* plan_convolution.c */
int plan_inner_product(struct kernel_plan *p);
int plan_gemm(struct kernel_plan *p);

/* Adds a launch, without buffers and groups, of zeroed numbers. */
struct kernel_launch *plan_launch(struct kernel_plan *p, uint32_t kernel);

/* Whether all operands are of that dtype. */
bool plan_is_all(const struct kernel_plan *p, uint32_t dtype);
/* Elements of an operand. */
int64_t plan_count(const ferry_operand *o);
/* ⌈a / b⌉ */
int64_t plan_parts(int64_t a, int64_t b);
/* Elements of a group, where each is little work. */
int64_t plan_piece(const struct kernel_plan *p, int64_t all, int64_t least);
/* Says that x and y are best with their channels last. */
void plan_prefer_channels_last(struct kernel_plan *p);
/* What a window over x and y is, in three axes. */
void plan_window(const ferry_op_window *window, const ferry_operand *x, const ferry_operand *y,
                 struct window *out);
/* Strides of three axes, of which the operand has the last. */
void plan_spatial(const ferry_operand *o, uint32_t first, int64_t *stride);

#endif
