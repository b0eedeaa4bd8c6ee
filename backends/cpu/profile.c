/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table "ferry.profile/1". The device's clock is the host's, and the work of an entry is done
 * when the entry returns, so that a section is as long as the calls in it.
 */
#define _POSIX_C_SOURCE 200809L
#include "cpu.h"

#include <stdlib.h>
#include <time.h>

#define NANOSECONDS UINT64_C(1000000000)

struct section {
    uint64_t begin, end;
};

static uint64_t nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * NANOSECONDS + (uint64_t)t->tv_nsec;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return nanoseconds(&t);
}

static int describe_clock(void *dev, ferry_profile_clock *out)
{
    struct timespec step = { 0, 1 };

    (void)dev;
    clock_getres(CLOCK_MONOTONIC, &step);
    out->frequency = NANOSECONDS;
    out->resolution = nanoseconds(&step) ? nanoseconds(&step) : 1;
    out->ticks = now();
    out->host_ns = out->ticks;
    return 0;
}

/* Begins profiling; a queue needs no preparation. */
static int start(void *dev, void *queue)
{
    (void)dev;
    (void)queue;
    return 0;
}

static int begin(void *dev, void *queue, void **out_section)
{
    struct section *s = malloc(sizeof(*s));

    (void)dev;
    (void)queue;
    if (!s)
        return cpu_host->error(FERRY_ENOMEM, "malloc of a section failed");
    s->end = 0;
    s->begin = now();
    *out_section = s;
    return 0;
}

static int end(void *dev, void *queue, void *section)
{
    struct section *s = section;

    (void)dev;
    (void)queue;
    s->end = now();
    return 0;
}

static int read_times(void *dev, void *section, ferry_profile_times *out)
{
    const struct section *s = section;

    (void)dev;
    out->begin = s->begin;
    out->end = s->end;
    return 1;
}

static void destroy(void *dev, void *section)
{
    (void)dev;
    free(section);
}

const ferry_profile_table cpu_profile = {
    .struct_size = sizeof(ferry_profile_table),
    .clock = describe_clock,
    .start = start,
    .stop = start,
    .begin = begin,
    .end = end,
    .read = read_times,
    .destroy = destroy,
};
