/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution of each channel separately: one line of its output at a time, by the loops of an
 * instruction set.
 */
#ifndef FERRY_CPU_OP_DEPTHWISE_H
#define FERRY_CPU_OP_DEPTHWISE_H

#include "op.h"
#include "tile.h"

/*
 * For copied_impl.h: the number of channels that are processed at a time, and the maximum number of
 * floats of their lines, with the padding.
 */
#define COPIED_CHANNELS 16
#define COPIED_MOST     (12 * 1024)

/* A depthwise convolution. F32, with a contiguous bias. */
bool cpu_depthwise_can(const struct cpu_op *p);
void cpu_depthwise_plan(struct cpu_op *p);
/* Whether a planned operation can have values of BF16. */
bool cpu_depthwise_takes_values(const struct cpu_op *p);
void cpu_depthwise_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                        float *packed);
void cpu_depthwise_run(struct cpu_device *d, const struct cpu_op *p,
                       const struct cpu_op_args *args);

struct cpu_depthwise {
    const struct cpu_window *window;
    const float *x, *w;
    float *y;
    int64_t w_tap, w_channel; /* strides of the weights; taps are consecutive */
    const float *add;         /* the added operand, which has the layout of y */
    struct cpu_store store;
    int64_t inner[2]; /* the pixels of a line whose windows are inside the image: first, end */
};

/* One line, and the range of the window's first two axes that is inside the image. */
struct cpu_line {
    const float *x; /* the element under tap (0, 0, 0) of pixel 0, ignoring padding */
    int64_t y;      /* the offset of pixel 0, channel 0 */
    int64_t first[2], end[2];
};

/* The number of columns that the windows of a line cover, including the padding. */
static inline int64_t cpu_depthwise_columns(const struct cpu_window *w)
{
    return (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
}

/* The taps of an axis that are inside the image at position `at`. */
static inline void cpu_depthwise_see(const struct cpu_window *w, int axis, int64_t at,
                                     int64_t *first, int64_t *end)
{
    int64_t begin = at * w->stride[axis] - w->pad[axis], step = w->dilation[axis];

    *first = begin < 0 ? (step - 1 - begin) / step : 0;
    *end = begin < w->in[axis] ? (w->in[axis] - begin + step - 1) / step : 0;
    if (*end > w->kernel[axis])
        *end = w->kernel[axis];
    if (*first > *end)
        *first = *end;
}

#endif
