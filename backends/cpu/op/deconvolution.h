/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transposed convolution with few channels: one line of its output at a time, by the loops of an
 * instruction set.
 *
 * Element q of a line, counted with the padding, is the sum of x[q / stride − t] · w[q % stride +
 * t · stride] over t. Both are read by vectors over q: a line of x has each element `stride` times,
 * and the weights of each t are repeated past their end.
 */
#ifndef FERRY_CPU_OP_DECONVOLUTION_H
#define FERRY_CPU_OP_DECONVOLUTION_H

#include <stdint.h>

/* One line of an output channel of an image. */
struct cpu_deconvolved_line {
    int64_t channels, lines, taps; /* the numbers of summands: channels, and the lines and taps that
                                    * are a stride apart */
    const float *x;                /* the repeated line under the first line of taps, q = 0 */
    int64_t x_channel, x_line;     /* the distances from a channel to the next, and from a line to
                                    * the one before */
    const float *w;                /* the taps of the first line and channel */
    int64_t w_channel, w_line, w_tap; /* the distances from a channel, a line and a tap to the
                                       * next */
    int64_t stride, first;            /* the stride along the line, and q of the line's first
                                       * pixel */
    float bias;
    float *y;
    int64_t y_step, pixels;
};

#endif
