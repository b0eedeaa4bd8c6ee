/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads rocBLAS when a device is opened. */
#include "backends/cuda/cuda.h"

#include <dlfcn.h>

static __typeof__(rocblas_gemm_ex) *gemm_ex;
static __typeof__(rocblas_gemm_strided_batched_ex) *gemm_strided;

rocblas_status cublasGemmEx(rocblas_handle handle, rocblas_operation trans_a,
                            rocblas_operation trans_b, int m, int n, int k, const void *alpha,
                            const void *a, rocblas_datatype a_type, int lda, const void *b,
                            rocblas_datatype b_type, int ldb, const void *beta, void *c,
                            rocblas_datatype c_type, int ldc, rocblas_datatype compute,
                            rocblas_gemm_algo algorithm)
{
    return gemm_ex(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta,
                   c, c_type, ldc, c, c_type, ldc, compute, algorithm, 0, 0);
}

rocblas_status cublasGemmStridedBatchedEx(rocblas_handle handle, rocblas_operation trans_a,
                                          rocblas_operation trans_b, int m, int n, int k,
                                          const void *alpha, const void *a, rocblas_datatype a_type,
                                          int lda, long long stride_a, const void *b,
                                          rocblas_datatype b_type, int ldb, long long stride_b,
                                          const void *beta, void *c, rocblas_datatype c_type,
                                          int ldc, long long stride_c, int batch,
                                          rocblas_datatype compute, rocblas_gemm_algo algorithm)
{
    return gemm_strided(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b,
                        b_type, ldb, stride_b, beta, c, c_type, ldc, stride_c, c, c_type, ldc,
                        stride_c, batch, compute, algorithm, 0, 0);
}

#define SONAME "librocblas.so." CUDA_TEXT(HIP_ROCBLAS) /* of the release with this HIP: configure */

static int load(void)
{
    struct cuda_blas_table table = { .gemm_ex = cublasGemmEx,
                                     .gemm_strided = cublasGemmStridedBatchedEx };
    void *library = cuda_library_open(SONAME, NULL);

    if (!library)
        return cuda_host->error(FERRY_ENODEV,
                                "%s; it is part of ROCm: add its folder to LD_LIBRARY_PATH or "
                                "ldconfig",
                                dlerror());
#define FIND(place, name)                                               \
    *(void **)(void *)&(place) = dlsym(library, name);                  \
    if (!(place)) {                                                     \
        dlclose(library);                                               \
        return cuda_host->error(FERRY_EPLUGIN, SONAME " has no " name); \
    }
#define LOAD(member, function) FIND(table.member, CUDA_TEXT(function))
    CUDA_BLAS_SAME(LOAD)
    FIND(gemm_ex, "rocblas_gemm_ex")
    FIND(gemm_strided, "rocblas_gemm_strided_batched_ex")
#undef LOAD
#undef FIND
    cuda_blas = table;
    return 0;
}

int cuda_blas_load(void)
{
    static struct cuda_once once = CUDA_ONCE;

    return cuda_load_once(&once, load);
}
