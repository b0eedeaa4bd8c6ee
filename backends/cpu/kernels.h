/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The innermost loops: one thread, plain pointers aligned to their element, n ≥ 0. Compiled once
 * for any CPU of the architecture and once for what most have had for years; which is used is
 * decided when the device is opened, so that the plugin itself asks nothing of the CPU.
 */
#ifndef FERRY_CPU_KERNELS_H
#define FERRY_CPU_KERNELS_H

#include <ferry/types.h>

struct cpu_kernels {
    const char *name;
    /* Indexed by FERRY_F32, FERRY_F64. Sums of both are made in F64. */
    /* y += alpha·x; x may be y. */
    void (*axpy[2])(int64_t n, double alpha, const void *x, void *y);
    /* x *= alpha. */
    void (*scal[2])(int64_t n, double alpha, void *x);
    /* Sum of x·y; of |x| and of x², which take no y. */
    double (*dot[2])(int64_t n, const void *x, const void *y);
    double (*asum[2])(int64_t n, const void *x, const void *y);
    double (*sumsq[2])(int64_t n, const void *x, const void *y);
    /* Indexed by FERRY_F16, FERRY_BF16: to F32, and back, rounded to nearest even. */
    void (*widen[4])(int64_t n, const void *x, float *y);
    void (*narrow[4])(int64_t n, const float *x, void *y);
    /* F32 to F64, and back, rounded to nearest even. */
    void (*to_f64)(int64_t n, const float *x, double *y);
    void (*from_f64)(int64_t n, const double *x, float *y);
    /*
     * To the float beside x whose last bit is odd, unless one is equal to it: rounded on to F16 or
     * BF16 it gives what x would, whereas rounding to nearest twice may miss by one.
     */
    void (*odd_f64)(int64_t n, const double *x, float *y);
};

/* Those for any CPU, and the best for the one that runs this. */
const struct cpu_kernels *cpu_kernels_base(void);
const struct cpu_kernels *cpu_kernels_best(void);

#endif
