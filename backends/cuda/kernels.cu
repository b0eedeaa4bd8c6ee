/* SPDX-License-Identifier: BSD-2-Clause */
/* Includes all kernels, for nvcc. */
#include "backends/cuda/target.h"

#define VEC   CUDA_VEC
#define GROUP CUDA_GROUP
#include "kernels/all.h"
