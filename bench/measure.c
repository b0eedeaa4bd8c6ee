/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "measure.h"

#include <stdlib.h>
#include <time.h>

/* The clock, and the number of samples. */

#define SAMPLES        15
#define SAMPLE_SECONDS 0.01
#define QUICK_SAMPLES  3
#define QUICK_SECONDS  0.0005

double bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

double bench_median(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof(*samples), compare);
    return samples[count / 2];
}

static double seconds_a_time(bench_loop loop, void *arg, int64_t times)
{
    double begin = bench_now();

    loop(arg, times);
    return (bench_now() - begin) / (double)times;
}

/* The number of repetitions that makes a sample long enough for the clock. Also warms up. */
static int64_t calibrate(const struct bench *b, bench_loop loop, void *arg)
{
    double enough = b->quick ? QUICK_SECONDS : SAMPLE_SECONDS;
    int64_t times = 1;
    double one = seconds_a_time(loop, arg, times);

    while (one * (double)times < enough) {
        times *= 2;
        one = seconds_a_time(loop, arg, times);
    }
    return times;
}

static int sample_count(const struct bench *b)
{
    return b->quick ? QUICK_SAMPLES : SAMPLES;
}

double bench_time(const struct bench *b, bench_loop loop, void *arg)
{
    double samples[SAMPLES];
    int64_t times = calibrate(b, loop, arg);

    for (int i = 0; i < sample_count(b); i++)
        samples[i] = seconds_a_time(loop, arg, times);
    return bench_median(samples, sample_count(b));
}

double bench_measure(struct bench *b, const struct bench_figure *f)
{
    double values[SAMPLES], references[SAMPLES], value, reference;
    int64_t value_times = calibrate(b, f->value, f->arg);
    int64_t reference_times = calibrate(b, f->reference, f->arg);

    for (int i = 0; i < sample_count(b); i++) {
        values[i] = seconds_a_time(f->value, f->arg, value_times);
        references[i] = seconds_a_time(f->reference, f->arg, reference_times);
    }
    value = bench_median(values, sample_count(b));
    reference = bench_median(references, sample_count(b));
    if (f->bytes > 0)
        bench_add(b, f->figure, "GB/s", f->bytes / value * 1e-9, f->bytes / reference * 1e-9,
                  f->direction, f->goal);
    else
        bench_add(b, f->figure, "ns", value * 1e9, reference * 1e9, f->direction, f->goal);
    return value;
}

void bench_bare_call(void *arg, int64_t times)
{
    (void)arg;
    for (int64_t i = 0; i < times; i++)
        __asm__ volatile("" : : "r"(ferry_version()) : "memory");
}
