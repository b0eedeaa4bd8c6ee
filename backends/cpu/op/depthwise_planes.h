/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Depthwise convolutions of row-major images, one plane at a time.
 *
 * A plane is copied with its padding, divided by the stride: element (r, c) of the padded plane is
 * in phase (r % stride, c % stride), a plane of its own with rows of `pitch` elements. All windows
 * then see a tap at one distance from their first element, so that sums and products are those of
 * long contiguous rows. The columns past the last window are computed too, and left out.
 */
#ifndef FERRY_CPU_OP_DEPTHWISE_PLANES_H
#define FERRY_CPU_OP_DEPTHWISE_PLANES_H

#include "op.h"

/* The maximum floats of the phases of a plane, and the maximum number of taps. */
#define DEPTHWISE_MOST      (16 * 1024)
#define DEPTHWISE_MOST_TAPS 49
/* The floats that loops may read and write past the end of a row. */
#define DEPTHWISE_PAST 64

/* Whether planes of x and y, of a window without transposition, are computed so. F32. */
bool cpu_depthwise_planes_fit(const struct cpu_window *w, int64_t group);
/* Whether a convolution is computed so; it has no epilogue. */
bool cpu_depthwise_planes_can(const struct cpu_op *p);
void cpu_depthwise_planes_run(struct cpu_device *d, const struct cpu_op *p,
                              const struct cpu_op_args *args);

/*
 * Adds the gradients of the weights, with these strides, of window w over the planes of `wide`, one
 * element of `narrow` per window.
 */
void cpu_depthwise_planes_weights(struct cpu_device *d, const struct cpu_op *p,
                                  const struct cpu_window *w, const int64_t *stride,
                                  const float *wide, const float *narrow, float *out);

#endif
