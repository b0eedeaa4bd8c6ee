/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parameters with which the kernels are compiled for CUDA: lanes of a vector, threads of a
 * block. Included by the plugin's source, its build and the double of the driver.
 */
#ifndef FERRY_CUDA_TARGET_H
#define FERRY_CUDA_TARGET_H

#define CUDA_VEC   4
#define CUDA_GROUP 128

#endif
