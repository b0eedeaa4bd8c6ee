/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

/*
 * Typical operations of layers on small blobs, on a device with the host's memory, compared with
 * the same without ferry.
 */

#define SMALL  120
#define LARGE  (INT64_C(1) << 20)
#define MEDIUM (INT64_C(1) << 16)

/* Keeps the compiler from removing unused results. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

struct small {
    ferry_device *device;
    ferry_blob *blob;
    int64_t n;
    float *data;
};

static volatile double sink;

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* Scales by factors that cancel, so that the values stay finite. */
static void scale(void *arg, int64_t times)
{
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_blob_scale_data(s->blob, i % 2 ? 0.5 : 2.0);
}

static void cblas_scale(void *arg, int64_t times)
{
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++)
        cblas_sscal((blasint)s->n, i % 2 ? 0.5f : 2.0f, s->data, 1);
}

static void asum(void *arg, int64_t times)
{
    const struct small *s = arg;
    double sum = 0;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob_asum_data(s->blob, &sum);
        sink = sum;
    }
}

static void cblas_sum(void *arg, int64_t times)
{
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++)
        sink = (double)cblas_sasum((blasint)s->n, s->data, 1);
}

/* ---- the state of a blob -------------------------------------------------------------------- */

static void reshape_by_turns(void *arg, int64_t times)
{
    static const int64_t whole[4] = { 2, 3, 4, 5 }, part[4] = { 1, 3, 4, 5 };
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_blob_reshape(s->blob, i % 2 ? whole : part, 4, NULL);
}

/* With 256 KiB. */
static void reshape_large_by_turns(void *arg, int64_t times)
{
    static const int64_t whole[4] = { 16, 16, 16, 16 }, part[4] = { 8, 16, 16, 16 };
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_blob_reshape(s->blob, i % 2 ? whole : part, 4, NULL);
}

/* A write on one side and a read on the other: two changes of side each time, without a copy. */
static void flip(void *arg, int64_t times)
{
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++) {
        KEEP(ferry_blob_mutable_host_data(s->blob));
        KEEP(ferry_blob_device_data(s->blob).handle);
    }
}

static void create_and_touch_both(void *arg, int64_t times)
{
    static const int64_t shape[4] = { 2, 3, 4, 5 };
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob *blob = NULL;

        ferry_blob_create(s->device, FERRY_F32, shape, 4, &blob);
        KEEP(ferry_blob_mutable_host_data(blob));
        KEEP(ferry_blob_mutable_host_diff(blob));
        ferry_blob_destroy(blob);
    }
}

/* The equivalent of the two halves: a blob and two allocated blocks. */
static void create_and_two_blocks(void *arg, int64_t times)
{
    static const int64_t shape[4] = { 2, 3, 4, 5 };
    const struct small *s = arg;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob *blob = NULL;
        void *data = aligned_alloc(64, 512), *diff = aligned_alloc(64, 512);

        ferry_blob_create(s->device, FERRY_F32, shape, 4, &blob);
        if (data)
            memset(data, 0, 480);
        if (diff)
            memset(diff, 0, 480);
        KEEP(data);
        KEEP(diff);
        free(data);
        free(diff);
        ferry_blob_destroy(blob);
    }
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* A blob of n ones. */
static int make(ferry_device *device, int64_t n, struct small *out)
{
    int err = ferry_blob_create(device, FERRY_F32, &n, 1, &out->blob);

    if (!err)
        err = ferry_blob_fill_data(out->blob, 1);
    out->device = device;
    out->n = n;
    out->data = err ? NULL : ferry_blob_mutable_host_data(out->blob);
    return err;
}

static void measure_on(struct bench *b, int64_t n, const struct bench_figure *figures, size_t count)
{
    struct small s = { .blob = NULL };

    if (make(b->device, n, &s) != 0)
        bench_skip(b, figures[0].figure, "%s", ferry_last_error());
    for (size_t i = 0; i < count && s.data; i++) {
        struct bench_figure figure = figures[i];

        figure.arg = &s;
        bench_measure(b, &figure);
    }
    ferry_blob_destroy(s.blob);
}

static void measure_flips(struct bench *b)
{
    struct small s = { .blob = NULL };

    if (make(b->device, SMALL, &s) == 0)
        bench_add(b, "a change of side between host and device", "ns",
                  bench_time(b, flip, &s) * 1e9 / 2, 0, BENCH_AT_MOST, 12);
    ferry_blob_destroy(s.blob);
}

void bench_small(struct bench *b)
{
    static const struct bench_figure small[] = {
        { "scale, 120 floats : cblas_sscal", scale, cblas_scale, NULL, 0, BENCH_AT_MOST, 1.5 },
        { "asum, 120 floats : cblas_sasum", asum, cblas_sum, NULL, 0, BENCH_AT_MOST, 1.5 },
        { "reshape by turns, 480 bytes : empty call", reshape_by_turns, bench_bare_call, NULL, 0,
          BENCH_AT_MOST, 4 },
        { "data and diff touched : blob and two blocks", create_and_touch_both,
          create_and_two_blocks, NULL, 0, BENCH_AT_MOST, 1.0 },
    };
    static const struct bench_figure medium[] = {
        { "reshape by turns, 256 KiB : empty call", reshape_large_by_turns, bench_bare_call, NULL,
          0, BENCH_AT_MOST, 4 },
    };
    static const struct bench_figure large[] = {
        { "asum, 2^20 floats : cblas_sasum", asum, cblas_sum, NULL, 0, BENCH_AT_MOST, 1.0 },
    };

    measure_on(b, SMALL, small, sizeof(small) / sizeof(small[0]));
    measure_flips(b);
    measure_on(b, MEDIUM, medium, 1);
    measure_on(b, LARGE, large, 1);
}
