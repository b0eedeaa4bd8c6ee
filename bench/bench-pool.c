/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include "core/device/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of the pool compared with one of malloc: allocated, touched for the first time, freed. */

struct blocks {
    ferry_device *device;
    size_t bytes;
};

static void from_pool(void *arg, int64_t times)
{
    const struct blocks *a = arg;

    for (int64_t i = 0; i < times; i++) {
        bool zeroed = false;
        void *p;

        if (ferry__pool_alloc(a->device, FERRY__POOL_DEVICE, &a->device->queue, a->bytes, true,
                              &zeroed, &p) != 0)
            return;
        memset(p, 1, a->bytes);
        ferry__pool_free(a->device, FERRY__POOL_DEVICE, p, a->bytes);
    }
}

static void from_malloc(void *arg, int64_t times)
{
    const struct blocks *a = arg;

    for (int64_t i = 0; i < times; i++) {
        void *p = malloc(a->bytes);

        if (!p)
            return;
        memset(p, 1, a->bytes);
        __asm__ volatile(""
                         :
                         : "r"(p)
                         : "memory"); /* keeps the compiler from removing the
                                                     * stores */
        free(p);
    }
}

void bench_pool(struct bench *b)
{
    static const struct {
        const char *name;
        size_t bytes;
    } sizes[] = {
        { "4 KiB", 4 << 10 },
        { "1 MiB", 1 << 20 },
        { "64 MiB", 64 << 20 },
    };
    char figure[64];

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct blocks a = { b->device, sizes[i].bytes };

        snprintf(figure, sizeof(figure), "pool, %s touched : malloc, free", sizes[i].name);
        bench_measure(
            b, &(struct bench_figure){ figure, from_pool, from_malloc, &a, 0, BENCH_AT_MOST, 1.2 });
    }
}
