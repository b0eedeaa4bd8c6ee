/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "plain.h"

#include <pthread.h>
#include <stdbool.h>

/* A vector of four floats, independent of the compiler's vectorization. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t four_bits __attribute__((vector_size(16), aligned(4), may_alias));

struct part {
    const float *x;
    float *y;
    float alpha, sum;
    int64_t first, end;
};

static void *axpy(void *arg)
{
    const struct part *p = arg;
    const float *x = p->x;
    float alpha = p->alpha, *y = p->y;

    for (int64_t i = p->first; i < p->end; i += 8) {
        *(four *)(y + i) += alpha * *(const four *)(x + i);
        *(four *)(y + i + 4) += alpha * *(const four *)(x + i + 4);
    }
    return NULL;
}

static four magnitude(const float *x)
{
    return (four)(*(const four_bits *)x & 0x7fffffffu);
}

static void *asum(void *arg)
{
    struct part *p = arg;
    const float *x = p->x;
    four s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };

    for (int64_t i = p->first; i < p->end; i += 16) {
        s0 += magnitude(x + i);
        s1 += magnitude(x + i + 4);
        s2 += magnitude(x + i + 8);
        s3 += magnitude(x + i + 12);
    }
    s0 = (s0 + s1) + (s2 + s3);
    p->sum = s0[0] + s0[1] + s0[2] + s0[3];
    return NULL;
}

/* The sum of the partial sums. The calling thread computes the first part. */
static float on_threads(int threads, int64_t n, const struct part *whole, void *(*loop)(void *))
{
    struct part parts[PLAIN_MOST_THREADS];
    pthread_t ids[PLAIN_MOST_THREADS];
    bool alone[PLAIN_MOST_THREADS];
    int64_t length = n / threads / 16 * 16;
    float sum = 0;

    for (int i = threads - 1; i >= 0; i--) {
        parts[i] = *whole;
        parts[i].first = length * i;
        parts[i].end = i == threads - 1 ? n : length * (i + 1);
        alone[i] = i == 0 || pthread_create(&ids[i], NULL, loop, &parts[i]) != 0;
        if (alone[i])
            loop(&parts[i]);
    }
    for (int i = 0; i < threads; i++) {
        if (!alone[i])
            pthread_join(ids[i], NULL);
        sum += parts[i].sum;
    }
    return sum;
}

void plain_axpy(int threads, int64_t n, float alpha, const float *x, float *y)
{
    const struct part whole = { .x = x, .y = y, .alpha = alpha };

    on_threads(threads, n, &whole, axpy);
}

float plain_asum(int threads, int64_t n, const float *x)
{
    const struct part whole = { .x = x };

    return on_threads(threads, n, &whole, asum);
}
