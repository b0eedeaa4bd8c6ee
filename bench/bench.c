/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES        15
#define SAMPLE_SECONDS 0.01
#define MOST_ROWS      64

struct row {
    char figure[96], unit[8], reason[160];
    double value, reference, ratio, goal;
    enum bench_goal direction;
    bool met;
};

struct bench {
    ferry_device *device;
    int count;
    struct row row[MOST_ROWS];
};

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

/* How many times make a sample long enough for the clock. Warms up besides. */
static int64_t calibrate(bench_loop loop, void *arg)
{
    int64_t times = 1;
    double one = seconds_a_time(loop, arg, times);

    while (one * (double)times < SAMPLE_SECONDS) {
        times *= 2;
        one = seconds_a_time(loop, arg, times);
    }
    return times;
}

double bench_time(bench_loop loop, void *arg)
{
    double samples[SAMPLES];
    int64_t times = calibrate(loop, arg);

    for (int i = 0; i < SAMPLES; i++)
        samples[i] = seconds_a_time(loop, arg, times);
    return bench_median(samples, SAMPLES);
}

double bench_measure(struct bench *b, const struct bench_figure *f)
{
    double values[SAMPLES], references[SAMPLES], value, reference;
    int64_t value_times = calibrate(f->value, f->arg);
    int64_t reference_times = calibrate(f->reference, f->arg);

    for (int i = 0; i < SAMPLES; i++) {
        values[i] = seconds_a_time(f->value, f->arg, value_times);
        references[i] = seconds_a_time(f->reference, f->arg, reference_times);
    }
    value = bench_median(values, SAMPLES);
    reference = bench_median(references, SAMPLES);
    if (f->bytes > 0)
        bench_add(b, f->figure, "GB/s", f->bytes / value * 1e-9, f->bytes / reference * 1e-9,
                  f->direction, f->goal);
    else
        bench_add(b, f->figure, "ns", value * 1e9, reference * 1e9, f->direction, f->goal);
    return value;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static struct row *new_row(struct bench *b, const char *figure)
{
    struct row *row = &b->row[b->count < MOST_ROWS ? b->count++ : MOST_ROWS - 1];

    memset(row, 0, sizeof(*row));
    snprintf(row->figure, sizeof(row->figure), "%s", figure);
    return row;
}

void bench_add(struct bench *b, const char *figure, const char *unit, double value,
               double reference, enum bench_goal direction, double goal)
{
    struct row *row = new_row(b, figure);

    snprintf(row->unit, sizeof(row->unit), "%s", unit);
    row->value = value;
    row->reference = reference;
    row->ratio = reference > 0 ? value / reference : value;
    row->direction = direction;
    row->goal = goal;
    row->met = direction == BENCH_AT_MOST ? row->ratio <= goal : row->ratio >= goal;
}

void bench_skip(struct bench *b, const char *figure, const char *fmt, ...)
{
    struct row *row = new_row(b, figure);
    va_list args;

    va_start(args, fmt);
    vsnprintf(row->reason, sizeof(row->reason), fmt, args);
    va_end(args);
}

static void print_table(const struct bench *b)
{
    printf("%-44s %11s %11s %7s %8s  %s\n", "figure", "value", "reference", "ratio", "goal", "met");
    for (int i = 0; i < b->count; i++) {
        const struct row *r = &b->row[i];

        if (r->reason[0])
            printf("%-44s %s\n", r->figure, r->reason);
        else
            printf("%-44s %6.4g %-4s %6.4g %-4s %7.2f %s %5.2f  %s\n", r->figure, r->value, r->unit,
                   r->reference, r->unit, r->ratio,
                   r->direction == BENCH_AT_MOST ? "<=" : ">=", r->goal, r->met ? "yes" : "NO");
    }
}

static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

/* Keys as `ferry bench --json` has them; what was not measured has nulls and a reason. */
static void print_json(const struct bench *b)
{
    printf("{\"rows\":[");
    for (int i = 0; i < b->count; i++) {
        const struct row *r = &b->row[i];

        printf("%s\n{\"figure\":", i ? "," : "");
        print_string(r->figure);
        if (r->reason[0]) {
            printf(",\"value\":null,\"reference\":null,\"ratio\":null,\"goal\":null,\"met\":null,"
                   "\"reason\":");
            print_string(r->reason);
        } else {
            printf(",\"unit\":\"%s\",\"value\":%.6g,\"reference\":%.6g,\"ratio\":%.4g,\"goal\":"
                   "%g,\"goal_is\":\"%s\",\"met\":%s",
                   r->unit, r->value, r->reference, r->ratio, r->goal,
                   r->direction == BENCH_AT_MOST ? "at most" : "at least",
                   r->met ? "true" : "false");
        }
        putchar('}');
    }
    printf("]}\n");
}

/* ---- for the suites ------------------------------------------------------------------------- */

ferry_device *bench_device(struct bench *b)
{
    return b->device;
}

const char *bench_beside(const char *name)
{
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    path[length > 0 ? length : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s", name);
    return path;
}

static int run_suites(struct bench *b, const char *only, bool json)
{
    for (const struct bench_suite *suite = bench_suites; suite->name; suite++)
        if (!only || strcmp(only, suite->name) == 0)
            suite->run(b);
    if (b->count > 0 || !only) /* else it is the other program's suite */
        (json ? print_json : print_table)(b);
    return 0;
}

/* Results that miss their goal are no failure: the machine may be busy. */
int main(int argc, char **argv)
{
    static struct bench b;
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "cpu" };
    ferry_runtime *runtime;
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int status = 1;

    if (ferry_runtime_open(&options, &runtime) == 0) {
        if (ferry_runtime_device(runtime, NULL, &b.device) == 0)
            status = run_suites(&b, argc > 1 + json ? argv[1 + json] : NULL, json);
        ferry_runtime_close(runtime);
    }
    if (status)
        fprintf(stderr, "bench: %s\n", ferry_last_error());
    return status;
}
