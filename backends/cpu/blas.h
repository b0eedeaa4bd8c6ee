/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library that multiplies matrices, OpenBLAS unless option.blas names another with its
 * functions. Loading it takes longer than everything else at a program's start, and starts threads:
 * it is opened by the first call that needs it.
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
 * Whether the library is there to be opened, which is asked when the plugin opens: 0, or
 * FERRY_EPLUGIN, said. Reads the option.
 */
int cpu_blas_find(void);

/* Its functions, opened if need be; NULL, said, if that fails. From any thread. */
const struct cpu_blas *cpu_blas(void);

#endif
