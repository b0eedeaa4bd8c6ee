/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_CONV_H
#define FERRY_BENCH_CONV_H

#include <stdint.h>

/*
 * One convolution, square, F32, batch 1, with bias and ReLU: on the CPU plugin's table of operations,
 * and on what it is compared with. Data are the maker's own; what they hold does not matter.
 */

struct conv_shape {
    const char *name;
    int64_t channels, outputs, size, kernel, stride, pad, group;
};

static inline int64_t conv_out(const struct conv_shape *s)
{
    return (s->size + 2 * s->pad - s->kernel) / s->stride + 1;
}

/* One that can be run any number of times. */
struct conv {
    void (*run)(void *state);
    void (*destroy)(void *state);
    void *state;
};

/* The plugin's, channels last; `set` is option.isa. 0, or −1 and *why. */
int conv_ferry(const struct conv_shape *s, const char *set, int threads, struct conv *out,
               const char **why);
/* im2col and OpenBLAS's sgemm, row-major. */
int conv_openblas(const struct conv_shape *s, int threads, struct conv *out);
/* oneDNN with the formats that it likes best; −1 without it. */
int conv_onednn(const struct conv_shape *s, int threads, struct conv *out);

#endif
