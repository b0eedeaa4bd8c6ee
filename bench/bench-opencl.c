/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An OpenCL device compared with direct calls of OpenCL, on the same buffers and the same queue. */

#define COUNT (INT64_C(1) << 24)
#define BYTES ((size_t)COUNT * sizeof(float)) /* 64 MiB */

struct world {
    ferry_device *device, *cpu;
    ferry_queue *queue;
    ferry_blob *blob, *on_cpu;
    ferry_ref x, y; /* its diff and its data */
    cl_context context;
    cl_command_queue q;
    cl_kernel kernel; /* writes the whole buffer */
    cl_mem first, second;
    cl_mem over_host; /* mapped */
    float *host;
};

/* ---- arithmetic ----------------------------------------------------------------------------- */

static void update(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_blob_update(w->blob);
    ferry_queue_synchronize(w->queue);
}

static void bare_saxpy(void *arg, int64_t times)
{
    struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        CLBlastSaxpy((size_t)COUNT, -1.0f, w->x.handle, 0, 1, w->y.handle, 0, 1, &w->q, NULL);
    clFinish(w->q);
}

static volatile double sink;

static void sum_blob(ferry_blob *blob, int64_t times)
{
    double sum = 0;

    for (int64_t i = 0; i < times; i++) {
        ferry_blob_asum_data(blob, &sum);
        sink = sum;
    }
}

static void asum(void *arg, int64_t times)
{
    const struct world *w = arg;

    sum_blob(w->blob, times);
}

static void cpu_asum(void *arg, int64_t times)
{
    const struct world *w = arg;

    sum_blob(w->on_cpu, times);
}

static void bare_asum(void *arg, int64_t times)
{
    struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        CLBlastSasum((size_t)COUNT, w->first, 0, w->y.handle, 0, 1, &w->q, NULL);
    clFinish(w->q);
}

/* ---- transitions ---------------------------------------------------------------------------- */

/* Written by the host, written by the device, then read by the host. */
static void to_and_fro(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        if (!ferry_blob_mutable_device_data(w->blob).handle ||
            !ferry_blob_mutable_host_data(w->blob))
            return;
}

static void bare_copies(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        clEnqueueWriteBuffer(w->q, w->second, CL_FALSE, 0, BYTES, w->host, 0, NULL, NULL);
        clEnqueueReadBuffer(w->q, w->second, CL_TRUE, 0, BYTES, w->host, 0, NULL, NULL);
    }
}

/* The bare calls of a transition on memory of the same size, which is mapped before and after. */
static void bare_maps(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        clEnqueueUnmapMemObject(w->q, w->over_host, w->host, 0, NULL, NULL);
        clEnqueueMapBuffer(w->q, w->over_host, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0,
                           NULL, NULL, NULL);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void run_kernel(struct world *w, cl_mem mem)
{
    const size_t items = (size_t)COUNT;

    clSetKernelArg(w->kernel, 0, sizeof(mem), &mem);
    clEnqueueNDRangeKernel(w->q, w->kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    clFinish(w->q);
}

static void pool(void *arg, int64_t times)
{
    struct world *w = arg;
    ferry_memory *m;

    for (int64_t i = 0; i < times; i++) {
        if (ferry_memory_create(w->device, BYTES, &m) != 0)
            return;
        run_kernel(w, ferry_memory_overwrite_device_data(m).handle);
        ferry_memory_release(m);
    }
}

static void bare_buffer(void *arg, int64_t times)
{
    struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        cl_mem mem = clCreateBuffer(w->context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);

        run_kernel(w, mem);
        clReleaseMemObject(mem);
    }
}

/* ---- measurements in a child process -------------------------------------------------------- */

/* Reads `count` numbers that child-opencl writes. */
static bool ask_child(const char *what, double *numbers, int count)
{
    char command[4200];
    int got = 0;
    FILE *f;

    snprintf(command, sizeof(command), "'%s' %s", bench_beside("child-opencl"), what);
    fflush(stdout);
    f = popen(command, "r");
    while (f && got < count && fscanf(f, "%lf", &numbers[got]) == 1)
        got++;
    return f && pclose(f) == 0 && got == count;
}

static void discrete(struct bench *b)
{
    double t[4];

    if (!ask_child("copies", t, 4)) {
        bench_skip(b, "opencl: discrete copies", "the helper program beside this one does not run");
        return;
    }
    bench_add(b, "opencl: 64 MiB to the device : WriteBuffer", "GB/s", (double)BYTES / t[0] * 1e-9,
              (double)BYTES / t[1] * 1e-9, BENCH_AT_LEAST, 0.95);
    bench_add(b, "opencl: 64 MiB to the host : ReadBuffer", "GB/s", (double)BYTES / t[2] * 1e-9,
              (double)BYTES / t[3] * 1e-9, BENCH_AT_LEAST, 0.95);
}

/*
 * The first use without a compiled program; with a program compiled by another process, if the
 * driver caches it; and with one compiled in this process.
 */
static void first_use(struct bench *b)
{
    char cache[] = "/tmp/ferry-bench-XXXXXX", remove[64];
    const char *usual = getenv("POCL_CACHE_DIR");
    char *before = usual ? strdup(usual) : NULL;
    double fresh[2], kept[2];

    if (!mkdtemp(cache))
        return;
    setenv("POCL_CACHE_DIR", cache, 1);
    if (ask_child("first", fresh, 2) && ask_child("first", kept, 2)) {
        bench_add(b, "opencl: later use : first use", "ms", fresh[1] * 1e3, fresh[0] * 1e3,
                  BENCH_AT_MOST, 0.1);
        bench_add(b, "  first use in the next process : first use", "ms", kept[0] * 1e3,
                  fresh[0] * 1e3, BENCH_AT_MOST, 1);
    }
    snprintf(remove, sizeof(remove), "rm -rf '%s'", cache);
    if (system(remove) != 0)
        fprintf(stderr, "bench: cannot remove %s\n", cache);
    if (before)
        setenv("POCL_CACHE_DIR", before, 1);
    else
        unsetenv("POCL_CACHE_DIR");
    free(before);
}

/* ---- the rows ------------------------------------------------------------------------------- */

static void beside_bare_maps(struct bench *b, struct world *w)
{
    const struct bench_figure figure = {
        "  : bare unmap and map", to_and_fro, bare_maps, w, 0, BENCH_AT_MOST, 1.5
    };

    w->over_host =
        clCreateBuffer(w->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, w->host, NULL);
    if (!w->over_host)
        return;
    clEnqueueMapBuffer(w->q, w->over_host, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL,
                       NULL, NULL);
    bench_measure(b, &figure);
    clEnqueueUnmapMemObject(w->q, w->over_host, w->host, 0, NULL, NULL);
    clFinish(w->q);
    clReleaseMemObject(w->over_host);
}

static void transitions(struct bench *b, struct world *w)
{
    double transition = bench_time(b, to_and_fro, w), copies = bench_time(b, bare_copies, w);

    bench_add(b, "opencl: 64 MiB to the device and back", "us", transition * 1e6, 0, BENCH_AT_MOST,
              50);
    bench_add(b, "  : Write and ReadBuffer", "us", transition * 1e6, copies * 1e6, BENCH_AT_MOST,
              0.1);
    beside_bare_maps(b, w);
}

static void measure(struct bench *b, struct world *w)
{
    const struct bench_figure figures[] = {
        { "opencl: update of 2^24 floats : CLBlastSaxpy", update, bare_saxpy, w,
          3.0 * (double)BYTES, BENCH_AT_LEAST, 0.95 },
        { "opencl: asum of 2^24 floats : the CPU plugin", asum, cpu_asum, w, 0, BENCH_AT_MOST, 3 },
        { "  : CLBlastSasum", asum, bare_asum, w, 0, BENCH_AT_MOST, 1 },
        { "opencl: pool, kernel, free of 64 MiB : buffer", pool, bare_buffer, w, 0, BENCH_AT_MOST,
          0.2 },
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        bench_measure(b, &figures[i]);
    if (ferry_device_get_properties(w->device)->unified)
        transitions(b, w);
    else
        bench_skip(b, "opencl: 64 MiB to the device and back", "the device does not share memory");
}

static int make_kernel(struct world *w)
{
    const char *source = "kernel void ones(global float *y) { y[get_global_id(0)] = 1; }";
    cl_program program = clCreateProgramWithSource(w->context, 1, &source, NULL, NULL);
    cl_int error = clBuildProgram(program, 0, NULL, NULL, NULL, NULL);

    w->kernel = error ? NULL : clCreateKernel(program, "ones", &error);
    clReleaseProgram(program);
    return error;
}

static int make_blob(ferry_device *device, ferry_blob **out)
{
    const int64_t count = COUNT;
    int err = ferry_blob_create(device, FERRY_F32, &count, 1, out);

    if (!err)
        err = ferry_blob_fill_data(*out, 1);
    return err ? err : ferry_blob_fill_diff(*out, 0);
}

static int make(struct bench *b, ferry_runtime *rt, struct world *w)
{
    int err = ferry_runtime_get_device(rt, NULL, &w->device);

    w->cpu = b->device;
    if (!err)
        err = make_blob(w->device, &w->blob);
    if (!err)
        err = make_blob(w->cpu, &w->on_cpu);
    if (err)
        return err;
    w->queue = ferry_device_queue(w->device);
    w->x = ferry_blob_mutable_device_diff(w->blob);
    w->y = ferry_blob_mutable_device_data(w->blob);
    err = ferry_device_native(w->device, "cl_context", &w->context, sizeof(w->context));
    if (!err)
        err = ferry_device_native(w->device, "cl_command_queue", &w->q, sizeof(w->q));
    if (err)
        return err;
    w->first = clCreateBuffer(w->context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    w->second = clCreateBuffer(w->context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    w->host = aligned_alloc(4096, BYTES);
    if (w->host)
        memset(w->host, 0, BYTES);
    return !w->first || !w->second || !w->host || make_kernel(w) ? FERRY_EDEVICE : 0;
}

static void take_apart(struct world *w)
{
    ferry_blob_destroy(w->blob);
    ferry_blob_destroy(w->on_cpu);
    if (w->kernel)
        clReleaseKernel(w->kernel);
    if (w->first)
        clReleaseMemObject(w->first);
    if (w->second)
        clReleaseMemObject(w->second);
    free(w->host);
}

void bench_opencl(struct bench *b)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "opencl" };
    struct world w = { 0 };
    ferry_runtime *rt;

    if (ferry_runtime_open(&options, &rt) != 0) {
        bench_skip(b, "opencl", "%s", ferry_last_error());
        return;
    }
    if (make(b, rt, &w) == 0)
        measure(b, &w);
    else
        bench_skip(b, "opencl", "%s", ferry_last_error());
    take_apart(&w);
    ferry_runtime_close(rt);
    discrete(b);
    first_use(b);
}
