/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library that multiplies matrices: OpenBLAS, unless option.blas names another library with its
 * functions. Loading it takes longer than the rest of a program's start and starts threads, so the
 * first call that needs it loads it.
 */
#ifndef FERRY_CPU_BLAS_H
#define FERRY_CPU_BLAS_H

#include <cblas.h>

struct cpu_blas {
    __typeof__(&cblas_sgemv) sgemv;
    __typeof__(&cblas_dgemv) dgemv;
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&cblas_dgemm) dgemm;
};

/*
 * Searches for the library without loading it, when the plugin is opened. Reads the option. Returns
 * 0, or FERRY_EPLUGIN after reporting it.
 */
int cpu_blas_find(void);

/*
 * The library's functions; loads it if necessary. NULL, after reporting it, if that fails. Callable
 * from any thread.
 */
const struct cpu_blas *cpu_blas(void);

#endif
