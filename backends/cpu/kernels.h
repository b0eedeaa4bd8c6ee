/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The innermost loops: one thread, plain pointers aligned to their element, n ≥ 0. They are
 * compiled once for any CPU of the architecture and once for the instruction set of most CPUs; the
 * version is selected when the device is opened, so that the plugin itself has no requirements on
 * the CPU.
 */
#ifndef FERRY_CPU_KERNELS_H
#define FERRY_CPU_KERNELS_H

#include <ferry/types.h>

struct cpu_kernels {
    const char *name;
    /* The following are indexed by FERRY_F32 and FERRY_F64. Sums of both are accumulated in F64. */
    /* y += alpha·x; x may be y. */
    void (*axpy[2])(int64_t n, double alpha, const void *x, void *y);
    /* x *= alpha. */
    void (*scal[2])(int64_t n, double alpha, void *x);
    /* The sum of x·y; of |x|; of x². The latter two ignore y. */
    double (*dot[2])(int64_t n, const void *x, const void *y);
    double (*asum[2])(int64_t n, const void *x, const void *y);
    double (*sumsq[2])(int64_t n, const void *x, const void *y);
    /* Convert F16 or BF16 to F32, and back, rounded to nearest even; indexed by FERRY_F16 and
     * FERRY_BF16. */
    void (*widen[4])(int64_t n, const void *x, float *y);
    void (*narrow[4])(int64_t n, const float *x, void *y);
    /* Convert F32 to F64, and back, rounded to nearest even. */
    void (*to_f64)(int64_t n, const float *x, double *y);
    void (*from_f64)(int64_t n, const double *x, float *y);
    /*
     * Converts to the float next to x whose last bit is odd, unless a float equals x: rounded
     * further to F16 or BF16 it gives the same result as x, whereas rounding to nearest twice may
     * be off by one.
     */
    void (*odd_f64)(int64_t n, const double *x, float *y);
};

/* The loops for any CPU, and the best loops for the current CPU. */
const struct cpu_kernels *cpu_kernels_base(void);
const struct cpu_kernels *cpu_kernels_best(void);

#endif
