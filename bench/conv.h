/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_CONV_H
#define FERRY_BENCH_CONV_H

#include "measure.h"

#include <ferry/op_types.h>

/*
 * One convolution, square, F32 where nothing else is said, batch 1, with bias and ReLU: on the CPU plugin's
 * table of operations, on any device, and on what they are compared with. Data are the maker's own; what they
 * hold does not matter.
 */

struct conv_shape {
    const char *name;
    int64_t channels, outputs, size, kernel, stride, pad, group;
};

/* Of ResNet-50, VGG, SqueezeNet, MobileNet. */
#define CONV_SHAPES 21
extern const struct conv_shape conv_shapes[CONV_SHAPES];

static inline int64_t conv_out(const struct conv_shape *s)
{
    return (s->size + 2 * s->pad - s->kernel) / s->stride + 1;
}

/* The operation: images with their channels last, weights and bias constant. */
void conv_describe(const struct conv_shape *s, ferry_op_desc *op);

/* One that can be run any number of times. */
struct conv {
    void (*run)(void *state);
    void (*destroy)(void *state);
    void *state;
    void (*wait)(void *state); /* until all runs are done; NULL: each is when it returns */
    double rest; /* seconds for which its threads look for more to do, in the way of the next */
};

/* Seconds a time of each, by turns, the least of several samples: what else runs on the machine only ever adds. */
void conv_measure(const struct bench *b, const struct conv *c, int count, double *out);
double conv_gigaflops(const struct conv_shape *s, double seconds);

/* The plugin's, channels last; `set` is option.isa. 0, or −1 and *why. */
int conv_ferry(const struct conv_shape *s, const char *set, int threads, struct conv *out,
               const char **why);
/* The device's own, channels last, through ferry/op.h; −1 where it has none. */
int conv_device(const struct conv_shape *s, ferry_device *device, struct conv *out);
/* Rows of one of them in F16 and in BF16 beside F32: the device may compute halves in F32, by steps. */
void conv_add_halves(struct bench *b, const char *name, ferry_device *device);
/* A row of how long the slowest of conv_shapes takes to be created there, once programs are loaded. */
void conv_add_create(struct bench *b, const char *name, ferry_device *device);
/* im2col and OpenBLAS's sgemm, row-major. */
int conv_openblas(const struct conv_shape *s, int threads, struct conv *out);
/* oneDNN with the formats that it likes best; −1 without it. */
int conv_onednn(const struct conv_shape *s, int threads, struct conv *out);

#endif
