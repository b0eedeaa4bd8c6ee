/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The definitions for compiling the sources on the host; host*.c include the sources after it, and
 * may set HOST_PREFIX before.
 */
#ifndef FERRY_KERNELS_HOST_TEXT_H
#define FERRY_KERNELS_HOST_TEXT_H

#define VEC   8
#define GROUP 4

#include "kernels/args.h"
#include "kernels/dialect.h"

/* The type by which host.c calls them: group, buffers, arguments. */
typedef void host_kernel(i64, u8 *const *, const void *);

extern host_kernel host_convolve_1, host_convolve_2, host_depthwise, host_slide, host_direct;
extern host_kernel host_reduce, host_moments, host_softmax;
extern host_kernel host_lrn, host_resize, host_roi_pool, host_im2col, host_col2im;

extern host_kernel host_share, host_moments_data, host_softmax_data;
extern host_kernel host_pool_data, host_lrn_data, host_resize_data;
extern host_kernel host_gradient, host_gradient_sum;

#endif
