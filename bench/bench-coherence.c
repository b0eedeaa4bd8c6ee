/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Copies on four devices of the sim plugin: how much of them overlaps with computing, whether they
 * slow down a settled access, and what tracing them costs.
 */

#define DEVICES       4
#define OVERLAP_BYTES (INT64_C(64) << 20)
#define BANDWIDTH \
    "256MiB" /* a quarter of a second for OVERLAP_BYTES, much longer than its
                                * memmove */
#define ROUNDS      7
#define TRACED_RUNS 31

#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

/* ---- overlap -------------------------------------------------------------------------------- */

/* Computes, in registers, for that many seconds. */
static void compute(double seconds)
{
    double end = bench_now() + seconds, x = 0.5;

    while (bench_now() < end) {
        for (int i = 0; i < 1000; i++)
            x = x * 3.9 * (1 - x);
        KEEP(&x);
    }
}

/*
 * Copies the blob to the device while the calling thread computes for that many seconds. Returns
 * the seconds that the thread spent on the copy before and after computing; negative if it failed.
 */
static double copy_and_compute(ferry_device *device, ferry_blob *blob, double seconds)
{
    double begin, prefetched, computed;

    if (!ferry_blob_mutable_host_data(blob)) /* makes only the host's copy valid */
        return -1;
    begin = bench_now();
    if (ferry_memory_prefetch(ferry_blob_data_memory(blob), device, NULL) != 0)
        return -1;
    prefetched = bench_now();
    compute(seconds);
    computed = bench_now();
    if (ferry_device_synchronize(device) != 0)
        return -1;
    return prefetched - begin + bench_now() - computed;
}

/* Computes as long as the copy takes: a copy that is not asynchronous overlaps with nothing. */
static void overlap(struct bench *b, ferry_device *device)
{
    static const char figure[] = "64 MB prefetched : hidden behind compute";
    const int64_t floats = OVERLAP_BYTES / (int64_t)sizeof(float);
    double alone[ROUNDS], exposed[ROUNDS], copy;
    ferry_blob *blob = NULL;
    bool failed = ferry_blob_create(device, FERRY_F32, &floats, 1, &blob) != 0 ||
                  copy_and_compute(device, blob, 0) < 0;

    for (int i = 0; i < ROUNDS && !failed; i++) {
        alone[i] = copy_and_compute(device, blob, 0);
        exposed[i] = copy_and_compute(device, blob, alone[i]);
        failed = alone[i] < 0 || exposed[i] < 0;
    }
    ferry_blob_destroy(blob);
    if (failed) {
        bench_skip(b, figure, "%s", ferry_last_error());
        return;
    }
    copy = bench_median(alone, ROUNDS);
    bench_add(b, figure, "ms", (copy - bench_median(exposed, ROUNDS)) * 1e3, copy * 1e3,
              BENCH_AT_LEAST, 0.9);
}

/* ---- settled access ------------------------------------------------------------------------- */

static void host_data(void *arg, int64_t times)
{
    const ferry_blob *blob = arg;

    for (int64_t i = 0; i < times; i++)
        KEEP(ferry_blob_host_data(blob));
}

/* Makes the host's copy and every device's copy valid, with no work pending. */
static int spread(ferry_runtime *rt, ferry_blob *blob)
{
    char name[16];
    int err = ferry_blob_mutable_host_data(blob) ? 0 : ferry_last_error_code();

    for (int i = 0; i < DEVICES && !err; i++) {
        ferry_device *device;
        ferry_ref ref;

        snprintf(name, sizeof(name), "sim:%d", i);
        err = ferry_runtime_get_device(rt, name, &device);
        if (!err)
            err = ferry_memory_access(ferry_blob_data_memory(blob), device, FERRY_READ, NULL, &ref);
        if (!err)
            err = ferry_device_synchronize(device);
    }
    return err;
}

static void settled(struct bench *b, ferry_runtime *rt, ferry_device *device)
{
    static const char figure[] = "settled host_data, 4 devices : that call";
    const int64_t count = 120;
    ferry_blob *blob = NULL;

    if (ferry_blob_create(device, FERRY_F32, &count, 1, &blob) != 0 || spread(rt, blob) != 0) {
        bench_skip(b, figure, "%s", ferry_last_error());
    } else {
        KEEP(ferry_blob_host_data(blob));
        bench_measure(b, &(struct bench_figure){ figure, host_data, bench_bare_call, blob, 0,
                                                 BENCH_AT_MOST, 1.3 });
    }
    ferry_blob_destroy(blob);
}

/* ---- the trace ------------------------------------------------------------------------------ */

static void trace(struct bench *b)
{
    static const char figure[] = "CPU time of copies, traced : not";
    double seconds[2][TRACED_RUNS], traced, plain;
    struct bench_child child;
    char folder[] = "/tmp/ferry-bench-XXXXXX", path[64];
    int failed = mkdtemp(folder) == NULL;

    snprintf(path, sizeof(path), "%s/trace.json", folder);
    setenv("FERRY_BACKEND", "sim", 1);
    for (int i = 0; i < 2 * TRACED_RUNS && !failed; i++) {
        if (i % 2)
            setenv("FERRY_TRACE", path, 1);
        failed = bench_run_child(bench_beside("child-ferry"), "copies", &child);
        unsetenv("FERRY_TRACE");
        unlink(path); /* otherwise the next run pays for truncating it */
        seconds[i % 2][i / 2] = child.cpu;
    }
    unsetenv("FERRY_BACKEND");
    rmdir(folder);
    if (failed) {
        bench_skip(b, figure, "the helper program beside this one does not run");
        return;
    }
    plain = bench_median(seconds[0], TRACED_RUNS);
    traced = bench_median(seconds[1], TRACED_RUNS);
    bench_add(b, figure, "ms", traced * 1e3, plain * 1e3, BENCH_AT_MOST, 1.05);
}

/* ---- the rows ------------------------------------------------------------------------------- */

void bench_coherence(struct bench *b)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "sim" };
    ferry_device *device = NULL;
    ferry_runtime *rt = NULL;
    int err = ferry_runtime_open(&options, &rt);

    if (!err)
        err = ferry_runtime_set_option(rt, "sim", "devices", "4");
    if (!err)
        err = ferry_runtime_set_option(rt, "sim", "bandwidth", BANDWIDTH);
    if (!err)
        err = ferry_runtime_get_device(rt, "sim:0", &device);
    if (err) {
        bench_skip(b, "coherence", "%s", ferry_last_error());
    } else {
        overlap(b, device);
        settled(b, rt, device);
        trace(b);
    }
    ferry_runtime_close(rt);
}
