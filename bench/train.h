/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_TRAIN_H
#define FERRY_BENCH_TRAIN_H

#include <stdint.h>

/*
 * LeNet's operations as a programmer would write them with a BLAS, forward and backward: im2col for
 * one image at a time, and products; the reference for ferry's own. Row-major, F32, with the
 * threads of the BLAS.
 */

/* A square convolution with stride 1. */
struct train_conv {
    int64_t images, channels, size, outputs, kernel, pad;
};

/* `columns` has room for one image: channels · kernel² floats for each element of a plane of y. */
void train_conv_forward(const struct train_conv *c, const float *x, const float *w,
                        const float *bias, float *columns, float *y);
void train_conv_data(const struct train_conv *c, const float *dy, const float *w, float *columns,
                     float *dx);
void train_conv_weights(const struct train_conv *c, const float *dy, const float *x, float *columns,
                        float *dw);
void train_conv_bias(const struct train_conv *c, const float *dy, float *db);

/* Maximum pooling of 2 × 2, of planes of size × size, and backward with its mask. */
void train_pool(int64_t planes, int64_t size, const float *x, float *y, float *mask);
void train_pool_data(int64_t planes, int64_t size, const float *dy, const float *mask, float *dx);

/* y (m, n) = x (m, k) · wᵀ + bias. */
void train_product(int64_t m, int64_t n, int64_t k, const float *x, const float *w,
                   const float *bias, float *y);
void train_product_data(int64_t m, int64_t n, int64_t k, const float *dy, const float *w,
                        float *dx);
void train_product_weights(int64_t m, int64_t n, int64_t k, const float *dy, const float *x,
                           float *dw);
void train_product_bias(int64_t m, int64_t n, const float *dy, float *db);

void train_relu(int64_t n, const float *x, float *y);
void train_relu_data(int64_t n, const float *dy, const float *y, float *dx);

#endif
