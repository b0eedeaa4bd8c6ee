/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Affine functions of channels, y = scale·x + shift, and their multiplication into weights: the
 * arithmetic of folding BatchNorm, Scale and Bias into a convolution.
 */
#ifndef FERRY_COMMON_AFFINE_H
#define FERRY_COMMON_AFFINE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* One scale and one shift for each channel, in the caller's memory. */
struct ferry__affine {
    int64_t channels;
    double *scale, *shift;
};

static inline void ferry__affine_reset(const struct ferry__affine *a)
{
    int64_t i;

    for (i = 0; i < a->channels; i++) {
        a->scale[i] = 1;
        a->shift[i] = 0;
    }
}

/* Composes channel i with y = factor·x + term, computed after it. */
static inline void ferry__affine_then(const struct ferry__affine *a, int64_t i, double factor,
                                      double term)
{
    a->scale[i] *= factor;
    a->shift[i] = a->shift[i] * factor + term;
}

/* A mean or a variance from the blobs of a BatchNorm: a sum of `count`; 0 if the count is 0. */
static inline double ferry__affine_statistic(double sum, double count)
{
    return count == 0 ? 0 : sum * (1 / count);
}

/* The mean of a channel and 1 / √(variance + eps), from the sums of both. */
static inline void ferry__affine_statistics(double sum, double variance, double count, double eps,
                                            double *out_mean, double *out_spread)
{
    *out_mean = ferry__affine_statistic(sum, count);
    *out_spread = 1 / sqrt(ferry__affine_statistic(variance, count) + eps);
}

/*
 * The order of weights: rows × outputs × inner; a single row unless the outputs are not the first
 * axis. The rows of one group belong to its outputs.
 */
struct ferry__weight_order {
    int64_t rows, outputs, inner, rows_of_group;
};

/* The output channel of the weights of a row and an output. */
static inline int64_t ferry__weight_channel(const struct ferry__weight_order *w, int64_t row,
                                            int64_t output)
{
    return row / w->rows_of_group * w->outputs + output;
}

/* Multiplies the weights of each output channel by its scale; `from` and `to` may be the same. */
static inline void ferry__affine_multiply(const struct ferry__weight_order *w, const double *scale,
                                          const float *from, float *to)
{
    int64_t i, j, k;

    for (i = 0; i < w->rows; i++)
        for (j = 0; j < w->outputs; j++) {
            double factor = scale[ferry__weight_channel(w, i, j)];

            for (k = 0; k < w->inner; k++)
                *to++ = (float)(factor * (double)*from++);
        }
}

#endif
