/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The selected device, measured through the public API only: its arithmetic compared with plain
 * loops on the host, its copies with memcpy, and the benefit of the pool. Some goals apply only to
 * a device with the host's memory; for others there is no goal.
 */

#define SMALL        INT64_C(128)
#define LARGE        (INT64_C(1) << 24)
#define QUICK        (INT64_C(1) << 16)
#define POOLED_BYTES ((size_t)1 << 20)

#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

struct run {
    ferry_device *device;
    ferry_blob *blob;
    int64_t n;
    float *x, *y; /* arrays of that many floats in host memory */
    int threads;
    int failed; /* an error code */
};

static volatile float sink;

/* ---- settled access ------------------------------------------------------------------------ */

static void device_data(void *arg, int64_t times)
{
    const struct run *r = arg;

    for (int64_t i = 0; i < times; i++) {
        ferry_cref ref = ferry_blob_device_data(r->blob);

        KEEP(ref.handle);
    }
}

/* ---- arithmetic: data on the device; complete when the clock stops --------------------------- */

static void update(void *arg, int64_t times)
{
    struct run *r = arg;

    for (int64_t i = 0; i < times && !r->failed; i++)
        r->failed = ferry_blob_update(r->blob);
    if (!r->failed)
        r->failed = ferry_device_synchronize(r->device);
}

static void host_update(void *arg, int64_t times)
{
    const struct run *r = arg;

    for (int64_t i = 0; i < times; i++)
        plain_axpy(r->n == SMALL ? 1 : r->threads, r->n, -1, r->x, r->y);
}

static void asum(void *arg, int64_t times)
{
    struct run *r = arg;
    double sum;

    for (int64_t i = 0; i < times && !r->failed; i++)
        r->failed = ferry_blob_asum_data(r->blob, &sum);
}

static void host_asum(void *arg, int64_t times)
{
    const struct run *r = arg;

    for (int64_t i = 0; i < times; i++)
        sink = plain_asum(r->threads, r->n, r->y);
}

/* ---- copies: written on the host, read on the device, and back ------------------------------- */

static void to_device(void *arg, int64_t times)
{
    struct run *r = arg;

    for (int64_t i = 0; i < times && !r->failed; i++) {
        if (!ferry_blob_overwrite_host_data(r->blob) || !ferry_blob_device_data(r->blob).handle)
            r->failed = ferry_last_error_code();
        else
            r->failed = ferry_device_synchronize(r->device);
    }
}

static void to_host(void *arg, int64_t times)
{
    struct run *r = arg;

    for (int64_t i = 0; i < times && !r->failed; i++)
        if (!ferry_blob_overwrite_device_data(r->blob).handle || !ferry_blob_host_data(r->blob))
            r->failed = ferry_last_error_code();
}

static void host_copy(void *arg, int64_t times)
{
    const struct run *r = arg;

    for (int64_t i = 0; i < times; i++) {
        memcpy(r->y, r->x, (size_t)r->n * sizeof(float));
        KEEP(r->y);
    }
}

/* ---- the pool -------------------------------------------------------------------------------- */

static void take_and_give_back(struct run *r)
{
    ferry_memory *m = NULL;

    r->failed = ferry_memory_create(r->device, POOLED_BYTES, &m);
    if (!r->failed && !ferry_memory_overwrite_device_data(m).handle)
        r->failed = ferry_last_error_code();
    ferry_memory_release(m);
}

static void from_pool(void *arg, int64_t times)
{
    struct run *r = arg;

    for (int64_t i = 0; i < times && !r->failed; i++)
        take_and_give_back(r);
}

/* Empties the pool each time, so that the plugin allocates. */
static void from_plugin(void *arg, int64_t times)
{
    struct run *r = arg;

    for (int64_t i = 0; i < times && !r->failed; i++) {
        take_and_give_back(r);
        if (!r->failed)
            r->failed = ferry_device_trim(r->device);
    }
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* Ones minus zeros: any number of updates leaves the values unchanged. */
static int make(ferry_device *device, int64_t n, struct run *out)
{
    size_t bytes = (size_t)n * sizeof(float);
    int err = ferry_blob_create(device, FERRY_F32, &n, 1, &out->blob);

    out->device = device;
    out->n = n;
    out->x = aligned_alloc(64, bytes);
    out->y = aligned_alloc(64, bytes);
    if (!err)
        err = ferry_blob_fill_data(out->blob, 1);
    if (!err)
        err = ferry_blob_fill_diff(out->blob, 0);
    if (!err && (!ferry_blob_mutable_device_data(out->blob).handle ||
                 !ferry_blob_mutable_device_diff(out->blob).handle))
        err = ferry_last_error_code();
    for (int64_t i = 0; out->x && out->y && i < n; i++) {
        out->x[i] = 0;
        out->y[i] = 1;
    }
    return err;
}

static void drop(struct run *r)
{
    ferry_blob_destroy(r->blob);
    free(r->x);
    free(r->y);
}

/* Runs the loop once before measuring it: a failed one gives no figure. */
static void measure(struct bench *b, struct run *r, const char *name, const char *size,
                    const struct bench_figure *what)
{
    struct bench_figure f = *what;
    char figure[sizeof(b->row[0].figure)];

    snprintf(figure, sizeof(figure), name, size);
    f.figure = figure;
    f.arg = r;
    f.value(r, 1);
    if (r->failed)
        bench_skip(b, figure, "%s", ferry_last_error());
    else if (!r->x || !r->y)
        bench_skip(b, figure, "no memory for the reference");
    else
        bench_measure(b, &f);
    r->failed = 0;
}

static int processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > PLAIN_MOST_THREADS ? PLAIN_MOST_THREADS : (int)n;
}

static void small_rows(struct bench *b, struct run *r, bool on_host)
{
    measure(b, r, "settled device_data : call that returns a pointer", "",
            &(struct bench_figure){ .value = device_data,
                                    .reference = bench_bare_call,
                                    .direction = BENCH_AT_MOST,
                                    .goal = 2 });
    measure(b, r, "update, 128 floats : plain loop", "",
            &(struct bench_figure){ .value = update,
                                    .reference = host_update,
                                    .direction = on_host ? BENCH_AT_MOST : BENCH_NO_GOAL,
                                    .goal = 2.5 });
    measure(
        b, r, "1 MiB from the pool : from the plugin", "",
        &(struct bench_figure){
            .value = from_pool, .reference = from_plugin, .direction = BENCH_AT_MOST, .goal = 1 });
}

static void arithmetic_rows(struct bench *b, struct run *r, const char *size)
{
    double bytes = (double)r->n * sizeof(float);
    char name[96];

    snprintf(name, sizeof(name), "axpy, %%s floats : plain loop, %d thread%s", r->threads,
             r->threads == 1 ? "" : "s");
    measure(b, r, name, size,
            &(struct bench_figure){ .value = update,
                                    .reference = host_update,
                                    .bytes = 3 * bytes,
                                    .direction = BENCH_AT_LEAST,
                                    .goal = 0.9 });
    memcpy(name, "asum", 4);
    measure(b, r, name, size,
            &(struct bench_figure){ .value = asum,
                                    .reference = host_asum,
                                    .bytes = bytes,
                                    .direction = BENCH_AT_LEAST,
                                    .goal = 0.9 });
}

static void copy_rows(struct bench *b, struct run *r, const char *size, bool shared)
{
    static const char *const names[] = { "%s to the device : memcpy", "%s to the host : memcpy" };

    for (int i = 0; i < 2; i++) {
        char figure[96];

        if (!shared) {
            measure(b, r, names[i], size,
                    &(struct bench_figure){ .value = i ? to_host : to_device,
                                            .reference = host_copy,
                                            .bytes = (double)r->n * sizeof(float),
                                            .direction = BENCH_AT_LEAST,
                                            .goal = 0.5 });
            continue;
        }
        snprintf(figure, sizeof(figure), names[i], size);
        bench_skip(b, figure, "not copied: the device's memory is the host's");
    }
}

void bench_of_device(struct bench *b)
{
    const ferry_device_properties *p = ferry_device_get_properties(b->device);
    struct run small = { .threads = 1 }, large = { .threads = processors() };

    if (make(b->device, SMALL, &small) != 0)
        bench_skip(b, "small blobs", "%s", ferry_last_error());
    else
        small_rows(b, &small, p->host_memory);
    drop(&small);
    if (make(b->device, b->quick ? QUICK : LARGE, &large) != 0) {
        bench_skip(b, "large blobs", "%s", ferry_last_error());
    } else {
        arithmetic_rows(b, &large, b->quick ? "2^16" : "2^24");
        copy_rows(b, &large, b->quick ? "256 KiB" : "64 MiB", p->host_memory || p->unified);
    }
    drop(&large);
}
