/* SPDX-License-Identifier: BSD-2-Clause */
/* Includes all kernels, for nvcc, and for hipcc but for the one that uses tensor cores. */
#include "backends/cuda/target.h"

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define KERNELS_WITHOUT_TENSOR
#endif
#define VEC   CUDA_VEC
#define GROUP CUDA_GROUP
#include "kernels/all.h"
