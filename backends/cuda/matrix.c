/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gemv and gemm. cuBLAS is column-major: a row-major matrix is its transpose there, so the operands
 * of products are swapped.
 */
#include "cuda.h"

static cublasOperation_t plain(uint32_t trans)
{
    return trans == FERRY_TRANS ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static cublasOperation_t flipped(uint32_t trans)
{
    return trans == FERRY_TRANS ? CUBLAS_OP_N : CUBLAS_OP_T;
}

/* ---- gemv ---- */

struct gemv {
    uint32_t dtype, trans;
    int m, n, lda, incx, incy;
    double alpha, beta;
    const void *a, *x;
    void *y;
};

/*
 * gemv of F16 or BF16, as a product of matrices: a vector with a stride is a matrix with one
 * element per column. A vector with a negative stride cannot be expressed as a matrix.
 */
static cublasStatus_t gemv_halves(cublasHandle_t blas, const struct gemv *g)
{
    cudaDataType type = g->dtype == FERRY_F16 ? CUDA_R_16F : CUDA_R_16BF;
    int in = g->trans == FERRY_TRANS ? g->m : g->n, out = g->trans == FERRY_TRANS ? g->n : g->m;
    float alpha = (float)g->alpha, beta = (float)g->beta;

    if (g->incx < 0 || g->incy < 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return cuda_blas.gemm_ex(blas, CUBLAS_OP_N, plain(g->trans), 1, out, in, &alpha, g->x, type,
                             g->incx, g->a, type, g->lda, &beta, g->y, type, g->incy,
                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t gemv(cublasHandle_t blas, const struct gemv *g)
{
    float alpha = (float)g->alpha, beta = (float)g->beta;

    if (g->dtype == FERRY_F32)
        return cuda_blas.sgemv(blas, flipped(g->trans), g->n, g->m, &alpha, g->a, g->lda, g->x,
                               g->incx, &beta, g->y, g->incy);
    if (g->dtype == FERRY_F64)
        return cuda_blas.dgemv(blas, flipped(g->trans), g->n, g->m, &g->alpha, g->a, g->lda, g->x,
                               g->incx, &g->beta, g->y, g->incy);
    return gemv_halves(blas, g);
}

int cuda_gemv(void *device, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
              double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
              ferry_ref y, int64_t incy)
{
    const struct gemv g = { .dtype = dtype,
                            .trans = trans,
                            .m = (int)m,
                            .n = (int)n,
                            .lda = (int)lda,
                            .incx = (int)incx,
                            .incy = (int)incy,
                            .alpha = alpha,
                            .beta = beta,
                            .a = cuda_at_const(a),
                            .x = cuda_at_const(x),
                            .y = cuda_at(y) };
    struct cuda_blas_call call;
    int err = cuda_blas_begin(device, queue, dtype, &call);

    if (err)
        return err;
    return cuda_blas_end(&call, dtype <= FERRY_F64 ? CALL(cublasGemv) : CUDA_CALL_GEMM_EX,
                         gemv(call.handle, &g));
}

/* ---- gemm ---- */

struct gemm {
    uint32_t dtype, trans_a, trans_b;
    int m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b;
    void *c;
};

static cublasStatus_t gemm(cublasHandle_t blas, const struct gemm *g)
{
    cudaDataType type = g->dtype == FERRY_F16 ? CUDA_R_16F : CUDA_R_16BF;
    cublasOperation_t op_a = plain(g->trans_a), op_b = plain(g->trans_b);
    float alpha = (float)g->alpha, beta = (float)g->beta;

    if (g->dtype == FERRY_F32)
        return cuda_blas.sgemm(blas, op_b, op_a, g->n, g->m, g->k, &alpha, g->b, g->ldb, g->a,
                               g->lda, &beta, g->c, g->ldc);
    if (g->dtype == FERRY_F64)
        return cuda_blas.dgemm(blas, op_b, op_a, g->n, g->m, g->k, &g->alpha, g->b, g->ldb, g->a,
                               g->lda, &g->beta, g->c, g->ldc);
    return cuda_blas.gemm_ex(blas, op_b, op_a, g->n, g->m, g->k, &alpha, g->b, type, g->ldb, g->a,
                             type, g->lda, &beta, g->c, type, g->ldc, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT);
}

int cuda_gemm(void *device, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b,
              int64_t m, int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda,
              ferry_cref b, int64_t ldb, double beta, ferry_ref c, int64_t ldc)
{
    const struct gemm g = { .dtype = dtype,
                            .trans_a = trans_a,
                            .trans_b = trans_b,
                            .m = (int)m,
                            .n = (int)n,
                            .k = (int)k,
                            .lda = (int)lda,
                            .ldb = (int)ldb,
                            .ldc = (int)ldc,
                            .alpha = alpha,
                            .beta = beta,
                            .a = cuda_at_const(a),
                            .b = cuda_at_const(b),
                            .c = cuda_at(c) };
    struct cuda_blas_call call;
    int err = cuda_blas_begin(device, queue, dtype, &call);

    if (err)
        return err;
    return cuda_blas_end(&call, dtype <= FERRY_F64 ? CUDA_CALL_GEMM : CUDA_CALL_GEMM_EX,
                         gemm(call.handle, &g));
}
