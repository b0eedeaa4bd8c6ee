/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A convolution in groups of few channels: the lanes of a vector are pixels, so that no lane is
 * left over in a group with fewer outputs than a vector has lanes.
 */
#ifndef FERRY_CPU_OP_GROUPED_H
#define FERRY_CPU_OP_GROUPED_H

#include "depthwise.h"
#include "op.h"

/* The number of channels that are computed at a time, a block: two or four whole groups. */
#define GROUPED_CHANNELS 16
/* The maximum number of floats of a block's copied lines, and of taps. */
#define GROUPED_MOST (16 * 1024)
#define GROUPED_TAPS 64

/*
 * Whether the functions below compute it: F32 images with contiguous channels, stride 1, groups of
 * four or eight channels and as many outputs, and no step but functions.
 */
bool cpu_grouped_can(const struct cpu_op *p);
void cpu_grouped_plan(struct cpu_op *p);
/* Packs the weights: group by group, tap by tap and channel by channel, those of all outputs. */
void cpu_grouped_pack(struct cpu_device *d, const struct cpu_op *p, const float *w, float *packed);
void cpu_grouped_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);

struct cpu_grouped {
    const struct cpu_window *window;
    int64_t width; /* the number of channels, and of outputs, of a group: 4 or 8 */
    const float *x, *w;
    float *y;
    struct cpu_store store; /* a bias and a clamp */
};

/* The number of floats of a channel's copy: the lines of x under `lines` lines of y. */
static inline int64_t cpu_grouped_channel(const struct cpu_window *w, int64_t lines)
{
    return (lines + (w->kernel[1] - 1) * w->dilation[1]) * cpu_depthwise_columns(w);
}

#endif
