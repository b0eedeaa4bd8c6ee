/* SPDX-License-Identifier: BSD-2-Clause */
#include "train.h"

#include <cblas.h>
#include <float.h>
#include <string.h>

static void product(int turned_a, int turned_b, int64_t m, int64_t n, int64_t k, const float *a,
                    const float *b, float beta, float *y)
{
    cblas_sgemm(CblasRowMajor, turned_a ? CblasTrans : CblasNoTrans,
                turned_b ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1, a,
                (blasint)(turned_a ? m : k), b, (blasint)(turned_b ? k : n), beta, y, (blasint)n);
}

static int64_t out_of(const struct train_conv *c)
{
    return c->size + 2 * c->pad - c->kernel + 1;
}

static int64_t depth_of(const struct train_conv *c)
{
    return c->channels * c->kernel * c->kernel;
}

static int64_t image_of(const struct train_conv *c)
{
    return c->channels * c->size * c->size;
}

/*
 * Whether a tap is inside the image is tested for each element, as for convolutions with padding.
 */
static void columns_of(const struct train_conv *c, const float *x, float *to)
{
    int64_t out = out_of(c);

    for (int64_t row = 0; row < depth_of(c); row++) {
        int64_t tap = row % (c->kernel * c->kernel), i = tap / c->kernel, j = tap % c->kernel;
        const float *plane = x + row / (c->kernel * c->kernel) * c->size * c->size;

        for (int64_t h = i - c->pad; h < out + i - c->pad; h++)
            for (int64_t w = j - c->pad; w < out + j - c->pad; w++)
                *to++ = h >= 0 && h < c->size && w >= 0 && w < c->size ? plane[h * c->size + w] : 0;
    }
}

static void image_from(const struct train_conv *c, const float *from, float *x)
{
    int64_t out = out_of(c);

    memset(x, 0, (size_t)image_of(c) * sizeof(*x));
    for (int64_t row = 0; row < depth_of(c); row++) {
        int64_t tap = row % (c->kernel * c->kernel), i = tap / c->kernel, j = tap % c->kernel;
        float *plane = x + row / (c->kernel * c->kernel) * c->size * c->size;

        for (int64_t h = i - c->pad; h < out + i - c->pad; h++)
            for (int64_t w = j - c->pad; w < out + j - c->pad; w++, from++)
                if (h >= 0 && h < c->size && w >= 0 && w < c->size)
                    plane[h * c->size + w] += *from;
    }
}

void train_conv_forward(const struct train_conv *c, const float *x, const float *w,
                        const float *bias, float *columns, float *y)
{
    int64_t places = out_of(c) * out_of(c);

    for (int64_t n = 0; n < c->images; n++, x += image_of(c), y += c->outputs * places) {
        columns_of(c, x, columns);
        product(0, 0, c->outputs, places, depth_of(c), w, columns, 0, y);
        for (int64_t o = 0; o < c->outputs; o++)
            for (int64_t i = 0; i < places; i++)
                y[o * places + i] += bias[o];
    }
}

void train_conv_data(const struct train_conv *c, const float *dy, const float *w, float *columns,
                     float *dx)
{
    int64_t places = out_of(c) * out_of(c);

    for (int64_t n = 0; n < c->images; n++, dx += image_of(c), dy += c->outputs * places) {
        product(1, 0, depth_of(c), places, c->outputs, w, dy, 0, columns);
        image_from(c, columns, dx);
    }
}

void train_conv_weights(const struct train_conv *c, const float *dy, const float *x, float *columns,
                        float *dw)
{
    int64_t places = out_of(c) * out_of(c);

    for (int64_t n = 0; n < c->images; n++, x += image_of(c), dy += c->outputs * places) {
        columns_of(c, x, columns);
        product(0, 1, c->outputs, depth_of(c), places, dy, columns, 1, dw);
    }
}

void train_conv_bias(const struct train_conv *c, const float *dy, float *db)
{
    int64_t places = out_of(c) * out_of(c);

    for (int64_t n = 0; n < c->images; n++)
        for (int64_t o = 0; o < c->outputs; o++)
            for (int64_t i = 0; i < places; i++)
                db[o] += *dy++;
}

void train_pool(int64_t planes, int64_t size, const float *x, float *y, float *mask)
{
    for (int64_t p = 0; p < planes; p++, x += size * size)
        for (int64_t i = 0; i < size; i += 2)
            for (int64_t j = 0; j < size; j += 2, y++, mask++) {
                *y = -FLT_MAX;
                for (int64_t k = 0; k < 4; k++) {
                    int64_t at = (i + k / 2) * size + j + k % 2;

                    if (x[at] > *y) {
                        *y = x[at];
                        *mask = (float)at;
                    }
                }
            }
}

void train_pool_data(int64_t planes, int64_t size, const float *dy, const float *mask, float *dx)
{
    memset(dx, 0, (size_t)(planes * size * size) * sizeof(*dx));
    for (int64_t p = 0; p < planes; p++, dx += size * size)
        for (int64_t i = 0; i < size * size / 4; i++)
            dx[(int64_t)*mask++] += *dy++;
}

void train_product(int64_t m, int64_t n, int64_t k, const float *x, const float *w,
                   const float *bias, float *y)
{
    product(0, 1, m, n, k, x, w, 0, y);
    for (int64_t i = 0; i < m * n; i++)
        y[i] += bias[i % n];
}

void train_product_data(int64_t m, int64_t n, int64_t k, const float *dy, const float *w, float *dx)
{
    product(0, 0, m, k, n, dy, w, 0, dx);
}

void train_product_weights(int64_t m, int64_t n, int64_t k, const float *dy, const float *x,
                           float *dw)
{
    product(1, 0, n, k, m, dy, x, 1, dw);
}

void train_product_bias(int64_t m, int64_t n, const float *dy, float *db)
{
    for (int64_t i = 0; i < m * n; i++)
        db[i % n] += dy[i];
}

void train_relu(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

void train_relu_data(int64_t n, const float *dy, const float *y, float *dx)
{
    for (int64_t i = 0; i < n; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}
