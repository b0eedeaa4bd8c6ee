/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>

/* Arithmetic where the data is, beside OpenBLAS and beside two threads with a plain loop. */

#define SMALL 120
#define LARGE (INT64_C(1) << 26)

struct vectors {
    ferry_blob *blob;
    int64_t n;
    float *data;
    const float *diff;
};

static void update(void *arg, int64_t times)
{
    const struct vectors *v = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_blob_update(v->blob);
}

static void saxpy(void *arg, int64_t times)
{
    const struct vectors *v = arg;

    for (int64_t i = 0; i < times; i++)
        cblas_saxpy((blasint)v->n, -1.0f, v->diff, 1, v->data, 1);
}

static volatile double sink;

static void asum(void *arg, int64_t times)
{
    const struct vectors *v = arg;
    double sum = 0;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob_asum_data(v->blob, &sum);
        sink = sum;
    }
}

/* ---- two threads, a plain loop -------------------------------------------------------------- */

/* Four floats side by side, whatever the compiler's own idea of vectors. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t four_bits __attribute__((vector_size(16), aligned(4), may_alias));

struct half {
    const struct vectors *v;
    int64_t first, end;
    float sum;
};

static void *plain_axpy(void *arg)
{
    const struct half *h = arg;
    const float *x = h->v->diff;
    float *y = h->v->data;

    for (int64_t i = h->first; i < h->end; i += 8) {
        *(four *)(y + i) += -1.0f * *(const four *)(x + i);
        *(four *)(y + i + 4) += -1.0f * *(const four *)(x + i + 4);
    }
    return NULL;
}

static four magnitude(const float *x)
{
    return (four)(*(const four_bits *)x & 0x7fffffffu);
}

static void *plain_asum(void *arg)
{
    struct half *h = arg;
    const float *x = h->v->data;
    four s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };

    for (int64_t i = h->first; i < h->end; i += 16) {
        s0 += magnitude(x + i);
        s1 += magnitude(x + i + 4);
        s2 += magnitude(x + i + 8);
        s3 += magnitude(x + i + 12);
    }
    s0 = (s0 + s1) + (s2 + s3);
    h->sum = s0[0] + s0[1] + s0[2] + s0[3];
    return NULL;
}

static void on_two_threads(const struct vectors *v, void *(*loop)(void *))
{
    struct half low = { v, 0, v->n / 2, 0 }, high = { v, v->n / 2, v->n, 0 };
    pthread_t thread;
    bool alone = pthread_create(&thread, NULL, loop, &high) != 0;

    if (alone)
        loop(&high);
    loop(&low);
    if (!alone)
        pthread_join(thread, NULL);
    sink = (double)(low.sum + high.sum);
}

static void two_thread_axpy(void *arg, int64_t times)
{
    for (int64_t i = 0; i < times; i++)
        on_two_threads(arg, plain_axpy);
}

static void two_thread_asum(void *arg, int64_t times)
{
    for (int64_t i = 0; i < times; i++)
        on_two_threads(arg, plain_asum);
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* A blob of ones with a diff of zeros: as often as it is updated, it stays as it is. */
static int make(ferry_device *device, int64_t n, struct vectors *out)
{
    int err = ferry_blob_create(device, FERRY_F32, 1, &n, &out->blob);

    if (!err)
        err = ferry_blob_fill_data(out->blob, 1);
    if (!err)
        err = ferry_blob_fill_diff(out->blob, 0);
    if (err) {
        ferry_blob_destroy(out->blob);
        return err;
    }
    out->n = n;
    out->data = ferry_blob_mutable_host_data(out->blob);
    out->diff = ferry_blob_mutable_host_diff(out->blob);
    return 0;
}

void bench_math(struct bench *b)
{
    struct vectors small = { 0 }, large = { 0 };
    double large_bytes = (double)LARGE * sizeof(float);

    if (make(bench_device(b), SMALL, &small) != 0) {
        bench_skip(b, "update, 120 floats", "%s", ferry_last_error());
        return;
    }
    bench_measure(b, &(struct bench_figure){ "update, 120 floats : cblas_saxpy", update, saxpy,
                                             &small, 0, BENCH_AT_MOST, 1.6 });
    ferry_blob_destroy(small.blob);
    if (make(bench_device(b), LARGE, &large) != 0) {
        bench_skip(b, "update, asum, 2^26 floats", "%s", ferry_last_error());
        return;
    }
    bench_measure(b, &(struct bench_figure){ "update, 2^26 floats : plain loop, 2 threads", update,
                                             two_thread_axpy, &large, 3 * large_bytes,
                                             BENCH_AT_LEAST, 0.9 });
    bench_measure(b, &(struct bench_figure){ "asum, 2^26 floats : plain loop, 2 threads", asum,
                                             two_thread_asum, &large, large_bytes, BENCH_AT_LEAST,
                                             0.9 });
    ferry_blob_destroy(large.blob);
}
