/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_CONV_H
#define FERRY_BENCH_CONV_H

#include "measure.h"

#include <ferry/op_types.h>

/*
 * One convolution, square, F32 by default, batch size 1, with bias and ReLU: on the CPU plugin's
 * table of operations, on any device, and on the libraries that they are compared with. Each
 * allocates its own data, whose values do not matter.
 */

struct conv_shape {
    const char *name;
    int64_t channels, outputs, size, kernel, stride, pad, group;
};

/* From ResNet-50, VGG, SqueezeNet, MobileNet. */
#define CONV_SHAPES 21
extern const struct conv_shape conv_shapes[CONV_SHAPES];

static inline int64_t conv_out(const struct conv_shape *s)
{
    return (s->size + 2 * s->pad - s->kernel) / s->stride + 1;
}

/* The operation: channels-last images, constant weights and bias. */
void conv_describe(const struct conv_shape *s, ferry_op_desc *op);

/* A convolution that can be run any number of times. */
struct conv {
    void (*run)(void *state);
    void (*destroy)(void *state);
    void *state;
    void (*wait)(void *state); /* waits until all runs are complete; NULL: run is synchronous */
    double rest; /* seconds for which its threads poll for more work and would disturb the next
                  * measurement */
};

/*
 * Seconds per run of each, in turn, the minimum of several samples: other load on the machine only
 * increases times.
 */
void conv_measure(const struct bench *b, const struct conv *c, int count, double *out);
double conv_gigaflops(const struct conv_shape *s, double seconds);

/* The plugin's, channels last; `set` is option.isa. 0, or −1 and *why. */
int conv_ferry(const struct conv_shape *s, const char *set, int threads, struct conv *out,
               const char **why);
/* The device's own, channels last, through ferry/op.h; −1 if it has none. */
int conv_device(const struct conv_shape *s, ferry_device *device, struct conv *out);
/*
 * Adds rows of one of them in F16 and in BF16 compared with F32: the device may compute half
 * precision in F32, in steps.
 */
void conv_add_halves(struct bench *b, const char *name, ferry_device *device);
/* Adds a row with the time of creating the slowest of conv_shapes once programs are loaded. */
void conv_add_create(struct bench *b, const char *name, ferry_device *device);
/* im2col and OpenBLAS's sgemm, row-major. */
int conv_openblas(const struct conv_shape *s, int threads, struct conv *out);
/* oneDNN with its preferred formats; −1 without it. */
int conv_onednn(const struct conv_shape *s, int threads, struct conv *out);

#endif
