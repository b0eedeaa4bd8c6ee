/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "plain.h"

#include <cblas.h>
#include <stdlib.h>

/* Arithmetic on the device's data compared with OpenBLAS and with two threads of a plain loop. */

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

static void two_thread_axpy(void *arg, int64_t times)
{
    const struct vectors *v = arg;

    for (int64_t i = 0; i < times; i++)
        plain_axpy(2, v->n, -1, v->diff, v->data);
}

static void two_thread_asum(void *arg, int64_t times)
{
    const struct vectors *v = arg;

    for (int64_t i = 0; i < times; i++)
        sink = (double)plain_asum(2, v->n, v->data);
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* A blob of ones with a diff of zeros: any number of updates leaves the values unchanged. */
static int make(ferry_device *device, int64_t n, struct vectors *out)
{
    int err = ferry_blob_create(device, FERRY_F32, &n, 1, &out->blob);

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

    if (make(b->device, SMALL, &small) != 0) {
        bench_skip(b, "update, 120 floats", "%s", ferry_last_error());
        return;
    }
    bench_measure(b, &(struct bench_figure){ "update, 120 floats : cblas_saxpy", update, saxpy,
                                             &small, 0, BENCH_AT_MOST, 1.6 });
    ferry_blob_destroy(small.blob);
    if (make(b->device, LARGE, &large) != 0) {
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
