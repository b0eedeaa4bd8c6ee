/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CUDA's headers, and what differs from HIP, whose counterpart is backends/hip/names.h.
 */
#ifndef FERRY_CUDA_NVIDIA_H
#define FERRY_CUDA_NVIDIA_H

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION < 11030
#error "the CUDA plugin needs CUDA 11.3 or later"
#endif

#define CUDA_PLUGIN      "cuda" /* the plugin's, and the beginning of names of native objects */
#define CUDA_API         "CUDA"
#define CUDA_TOOL        "nvidia-smi" /* shows the devices and the processes that use them */
#define CUDA_ORDER       "the CUDA runtime (CUDA_DEVICE_ORDER)"
#define CUDA_BLAS_OBJECT "cublas_handle"
#define CUDA_MOST_GROUPS INT32_MAX /* of a launch, along the first dimension */

/* Whether a device's context can be another than its primary one. */
#define CUDA_HAS_CONTEXTS true
/* Whether a library compiles kernels at run time, cuDNN and tensor cores may be used. */
#define CUDA_HAS_COMPILER
#define CUDA_HAS_DNN

#define CUDA_WORD unsigned /* that cuMemsetD32Async sets */

/* The name of a call, for messages. */
#define CALL(function)    #function
#define CUDA_CONTEXT_GET  "cuCtxGetCurrent"
#define CUDA_CONTEXT_SET  "cuCtxSetCurrent"
#define CUDA_CALL_GEMM    "cublasGemm"
#define CUDA_CALL_GEMM_EX "cublasGemmEx"
#define CUDA_CALL_BATCHED "cublasGemmStridedBatchedEx"

/* X(status of cuBLAS, ferry's code) */
#define CUDA_BLAS_STATUSES(X)                          \
    X(CUBLAS_STATUS_NOT_INITIALIZED, FERRY_EDEVICE)    \
    X(CUBLAS_STATUS_ALLOC_FAILED, FERRY_ENOMEM)        \
    X(CUBLAS_STATUS_INVALID_VALUE, FERRY_EINVAL)       \
    X(CUBLAS_STATUS_ARCH_MISMATCH, FERRY_EUNSUPPORTED) \
    X(CUBLAS_STATUS_MAPPING_ERROR, FERRY_EDEVICE)      \
    X(CUBLAS_STATUS_EXECUTION_FAILED, FERRY_EDEVICE)   \
    X(CUBLAS_STATUS_INTERNAL_ERROR, FERRY_EDEVICE)     \
    X(CUBLAS_STATUS_NOT_SUPPORTED, FERRY_EUNSUPPORTED) \
    X(CUBLAS_STATUS_LICENSE_ERROR, FERRY_EDEVICE)
/* Whether a status may mean a lost device. */
#define CUDA_BLAS_IS_VAGUE(status)                                                             \
    ((status) == CUBLAS_STATUS_EXECUTION_FAILED || (status) == CUBLAS_STATUS_INTERNAL_ERROR || \
     (status) == CUBLAS_STATUS_MAPPING_ERROR || (status) == CUBLAS_STATUS_NOT_INITIALIZED)

#endif
