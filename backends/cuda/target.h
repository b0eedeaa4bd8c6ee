/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernels are compiled with for CUDA: lanes of a vector, threads of a block. The plugin's own
 * text, its build and the double of the driver include this.
 */
#ifndef FERRY_CUDA_TARGET_H
#define FERRY_CUDA_TARGET_H

#define CUDA_VEC   4
#define CUDA_GROUP 128

#endif
