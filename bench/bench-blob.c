/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* The cost of a blob without its elements. */

static const int64_t shape[4] = { 2, 3, 4, 5 }; /* 120 floats, 480 bytes */

/* Keeps the compiler from removing unused results. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

struct blobs {
    ferry_device *device;
    ferry_blob *blob;
};

static void host_data(void *arg, int64_t times)
{
    const struct blobs *a = arg;

    for (int64_t i = 0; i < times; i++)
        KEEP(ferry_blob_host_data(a->blob));
}

static void create_destroy(void *arg, int64_t times)
{
    const struct blobs *a = arg;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob *blob = NULL;

        ferry_blob_create(a->device, FERRY_F32, shape, 4, &blob);
        KEEP(blob);
        ferry_blob_destroy(blob);
    }
}

static void malloc_free(void *arg, int64_t times)
{
    (void)arg;
    for (int64_t i = 0; i < times; i++) {
        void *p = malloc(64);

        KEEP(p);
        free(p);
    }
}

static void create_touch_destroy(void *arg, int64_t times)
{
    const struct blobs *a = arg;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob *blob = NULL;

        ferry_blob_create(a->device, FERRY_F32, shape, 4, &blob);
        KEEP(ferry_blob_mutable_host_data(blob)); /* the first touch fills with zeros */
        ferry_blob_destroy(blob);
    }
}

static void create_destroy_and_bytes(void *arg, int64_t times)
{
    const struct blobs *a = arg;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob *blob = NULL;
        void *p = aligned_alloc(64, 512);

        ferry_blob_create(a->device, FERRY_F32, shape, 4, &blob);
        if (p)
            memset(p, 0, 480);
        KEEP(p);
        free(p);
        ferry_blob_destroy(blob);
    }
}

static void reshape_same(void *arg, int64_t times)
{
    const struct blobs *a = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_blob_reshape(a->blob, shape, 4, NULL);
}

void bench_blob(struct bench *b)
{
    struct blobs a = { .device = b->device };
    const struct bench_figure figures[] = {
        { "settled host_data : call that returns a pointer", host_data, bench_bare_call, &a, 0,
          BENCH_AT_MOST, 1.3 },
        { "create + destroy, 4 axes : malloc(64) + free", create_destroy, malloc_free, &a, 0,
          BENCH_AT_MOST, 10 },
        { "  480 bytes touched : that + aligned_alloc", create_touch_destroy,
          create_destroy_and_bytes, &a, 0, BENCH_AT_MOST, 1.2 },
        { "reshape to the same shape : that call", reshape_same, bench_bare_call, &a, 0,
          BENCH_AT_MOST, 4 },
    };

    if (ferry_blob_create(a.device, FERRY_F32, shape, 4, &a.blob) != 0) {
        bench_skip(b, "blob", "%s", ferry_last_error());
        return;
    }
    KEEP(ferry_blob_mutable_host_data(a.blob));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        bench_measure(b, &figures[i]);
    ferry_blob_destroy(a.blob);
}
