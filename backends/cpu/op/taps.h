/* SPDX-License-Identifier: BSD-2-Clause */
/* The taps of a convolution: the layout of its weights, and the window that they cover. */
#ifndef FERRY_CPU_OP_TAPS_H
#define FERRY_CPU_OP_TAPS_H

struct cpu_op;

/* Sets the layout of the weights that each output of a group needs. */
void cpu_taps_find(struct cpu_op *p);
/*
 * Replaces a transposed convolution with strides of 1 by a convolution with flipped kernels and
 * complementary padding.
 */
void cpu_taps_turn(struct cpu_op *p);
/* Leaves out those first and last taps of each axis that are in the padding at all positions. */
void cpu_taps_trim(struct cpu_op *p);

#endif
