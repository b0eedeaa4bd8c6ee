/* SPDX-License-Identifier: BSD-2-Clause */
#include "conv.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

/* The usual implementation with a BLAS: im2col, a product, the bias and ReLU. */

struct composed {
    struct conv_shape shape;
    int threads;
    float *x, *w, *bias, *columns, *y;
};

static void fill_row(const struct conv_shape *s, const float *plane, int64_t i, int64_t j,
                     float *to)
{
    int64_t out = conv_out(s);

    for (int64_t r = 0; r < out; r++) {
        int64_t h = r * s->stride - s->pad + i;

        for (int64_t c = 0; c < out; c++, to++) {
            int64_t w = c * s->stride - s->pad + j;

            *to = h >= 0 && h < s->size && w >= 0 && w < s->size ? plane[h * s->size + w] : 0;
        }
    }
}

/* Rows of the columns of `channels` channels. */
static void im2col(const struct conv_shape *s, const float *x, int64_t channels, float *to)
{
    int64_t out = conv_out(s) * conv_out(s);

    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < s->kernel; i++)
            for (int64_t j = 0; j < s->kernel; j++, to += out)
                fill_row(s, x + c * s->size * s->size, i, j, to);
}

static void finish(const struct composed *m)
{
    int64_t out = conv_out(&m->shape) * conv_out(&m->shape);

    for (int64_t o = 0; o < m->shape.outputs; o++)
        for (int64_t i = 0; i < out; i++) {
            float value = m->y[o * out + i] + m->bias[o];

            m->y[o * out + i] = value > 0 ? value : 0;
        }
}

static void run(void *state)
{
    const struct composed *m = state;
    const struct conv_shape *s = &m->shape;
    int64_t channels = s->channels / s->group, outputs = s->outputs / s->group;
    int64_t out = conv_out(s) * conv_out(s), k = channels * s->kernel * s->kernel;
    int is_plain = s->kernel == 1 && s->stride == 1 && s->pad == 0;

    openblas_set_num_threads(m->threads);
    for (int64_t g = 0; g < s->group; g++) {
        const float *x = m->x + g * channels * s->size * s->size;

        if (!is_plain)
            im2col(s, x, channels, m->columns);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)outputs, (blasint)out,
                    (blasint)k, 1, m->w + g * outputs * k, (blasint)k, is_plain ? x : m->columns,
                    (blasint)out, 0, m->y + g * outputs * out, (blasint)out);
    }
    finish(m);
}

static void destroy(void *state)
{
    struct composed *m = state;

    free(m->x);
    free(m->w);
    free(m->bias);
    free(m->columns);
    free(m->y);
    free(m);
}

static float *floats(int64_t n)
{
    float *p = malloc(sizeof(*p) * (size_t)n);

    for (int64_t i = 0; p && i < n; i++)
        p[i] = (float)(i % 17) * 0.01f;
    return p;
}

int conv_openblas(const struct conv_shape *s, int threads, struct conv *out)
{
    int64_t pixels = conv_out(s) * conv_out(s);
    int64_t k = s->channels / s->group * s->kernel * s->kernel;
    struct composed *m = calloc(1, sizeof(*m));

    if (!m)
        return -1;
    *m = (struct composed){ *s,
                            threads,
                            floats(s->channels * s->size * s->size),
                            floats(s->outputs * k),
                            floats(s->outputs),
                            floats(k * pixels),
                            floats(s->outputs * pixels) };
    *out = (struct conv){ run, destroy, m, NULL, threads > 1 ? 0.03 : 0 };
    if (m->x && m->w && m->bias && m->columns && m->y)
        return 0;
    destroy(m);
    return -1;
}
