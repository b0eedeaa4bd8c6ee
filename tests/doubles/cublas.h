/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CUDA_DOUBLE_CUBLAS_H
#define FERRY_CUDA_DOUBLE_CUBLAS_H

#include "double.h"

#ifndef CUDA_NAMES
#include <cublas_v2.h>
#endif

enum operation { AXPY, SCAL, DOT, ASUM, GEMV_, GEMM_ };

/* The arguments of a call, stored for its stream; a, b and c are filled in at the submission. */
struct work {
    enum operation operation;
    cudaDataType type, result; /* types of the operands, and of c */
    int m, n, k, lda, ldb, ldc, batch;
    int64_t stride_a, stride_b, stride_c;
    bool trans_a, trans_b;
    bool in_parts; /* in two halves of k, each rounded to the result's type */
    double alpha, beta;
    const unsigned char *a, *b;
    unsigned char *c;
};

/*
 * cublas.c: reports an error of use; starts a call; loads a scalar's value; submits the work to the
 * stream.
 */
cublasStatus_t refuse(const char *call, const char *what);
cublasStatus_t begin(const char *call, cublasHandle_t handle);
cublasStatus_t scalar(const char *call, cublasHandle_t handle, const void *value, cudaDataType type,
                      double *out);
cublasStatus_t submit_work(const char *call, cublasHandle_t handle, const struct work *work,
                           const void *const addresses[3], const size_t sizes[3],
                           unsigned char *host_result);
size_t size_of(cudaDataType type);
bool adds_in_parts(cublasHandle_t handle);

/* Takes a struct work; returns a cudaError_t. */
int work_run(void *argument);

#endif
