/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_BENCH_TRAIN_H
#define FERRY_BENCH_TRAIN_H

#include <stdint.h>

/*
 * What one would write of LeNet's operations with a BLAS at hand, forward and backward: columns of an
 * image at a time and products; the reference of ferry's own. Row-major, F32, threads as the BLAS has
 * them.
 */

/* A square convolution with a stride of 1. */
struct train_conv {
    int64_t images, channels, size, outputs, kernel, pad;
};

/* `columns` has room for one image's: channels · kernel² floats for each element of a plane of y. */
void train_conv_forward(const struct train_conv *c, const float *x, const float *w,
                        const float *bias, float *columns, float *y);
void train_conv_data(const struct train_conv *c, const float *dy, const float *w, float *columns,
                     float *dx);
void train_conv_weights(const struct train_conv *c, const float *dy, const float *x, float *columns,
                        float *dw);
void train_conv_bias(const struct train_conv *c, const float *dy, float *db);

/* Maxima of 2 × 2, of planes size × size, and back by their mask. */
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
