/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"
#include "conv.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/*
 * A GPU's arithmetic through ferry. Functions limited by memory bandwidth are compared with a copy
 * within the device; matrix products and convolutions are reported in operations per second.
 */

#define MOST (INT64_C(1) << 28)
#define SIDE 8192 /* of matrices, at most */

/* The size for BENCH_QUICK on a processor. */
#define QUICK_SIDE      256
#define QUICK_GIGAFLOPS 0.02

struct world {
    ferry_device *device;
    ferry_queue *queue;
    ferry_memory *memory[2];
    ferry_ref x, y;
    int64_t count, side;
    ferry_dtype dtype, to;
    cudaStream_t stream;
};

/* ---- loops ---------------------------------------------------------------------------------- */

static void copy_bare(void *arg, int64_t times)
{
    const struct world *w = arg;
    void *to = ferry_device_pointer(w->device, w->y);
    const void *from = ferry_device_pointer(w->device, w->x);

    for (int64_t i = 0; i < times; i++)
        cudaMemcpyAsync(to, from, (size_t)w->count * 4, cudaMemcpyDeviceToDevice, w->stream);
    cudaStreamSynchronize(w->stream);
}

static void dot(void *arg, int64_t times)
{
    const struct world *w = arg;
    double sum;

    for (int64_t i = 0; i < times; i++)
        ferry_math_dot(w->queue, w->dtype, w->count, ferry_ref_const(w->x), ferry_ref_const(w->y),
                       &sum);
}

static void asum(void *arg, int64_t times)
{
    const struct world *w = arg;
    double sum;

    for (int64_t i = 0; i < times; i++)
        ferry_math_asum(w->queue, w->dtype, w->count, ferry_ref_const(w->x), &sum);
}

static void sumsq(void *arg, int64_t times)
{
    const struct world *w = arg;
    double sum;

    for (int64_t i = 0; i < times; i++)
        ferry_math_sumsq(w->queue, w->dtype, w->count, ferry_ref_const(w->x), &sum);
}

static void convert(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_math_convert(w->queue, w->count, w->dtype, ferry_ref_const(w->x), w->to, w->y);
    ferry_queue_synchronize(w->queue);
}

static void fill(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_math_fill(w->queue, w->dtype, w->count * 4 / (int64_t)ferry_dtype_size(w->dtype), 0.1,
                        w->y);
    ferry_queue_synchronize(w->queue);
}

static void gemv(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_math_gemv(w->queue, w->dtype, FERRY_NO_TRANS, w->side, w->side, 1,
                        ferry_ref_const(w->x), w->side, ferry_ref_const(w->x), 1, 0, w->y, 1);
    ferry_queue_synchronize(w->queue);
}

static void gemm(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        ferry_math_gemm(w->queue, w->dtype, FERRY_NO_TRANS, FERRY_NO_TRANS, w->side, w->side,
                        w->side, 1, ferry_ref_const(w->x), w->side, ferry_ref_const(w->x), w->side,
                        0, w->y, w->side);
    ferry_queue_synchronize(w->queue);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* `bytes` per element that are read and written. */
static const struct {
    const char *figure;
    bench_loop loop;
    ferry_dtype dtype, to;
    double bytes;
} through[] = {
    { "cuda: dot F32 : a copy within the device", dot, FERRY_F32, 0, 8 },
    { "cuda: dot F16 : a copy", dot, FERRY_F16, 0, 4 },
    { "cuda: asum F32 : a copy", asum, FERRY_F32, 0, 4 },
    { "cuda: sumsq BF16 : a copy", sumsq, FERRY_BF16, 0, 2 },
    { "cuda: convert F32 to F16 : a copy", convert, FERRY_F32, FERRY_F16, 6 },
    { "cuda: convert F16 to F32 : a copy", convert, FERRY_F16, FERRY_F32, 6 },
    { "cuda: convert U8 to F32 : a copy", convert, FERRY_U8, FERRY_F32, 5 },
    { "cuda: fill F32 : a copy", fill, FERRY_F32, 0, 4 },
    { "cuda: fill F64 : a copy", fill, FERRY_F64, 0, 4 },
};

static void measure_memory(struct bench *b, struct world *w)
{
    double bare = 8 * (double)w->count / bench_time(b, copy_bare, w);

    for (size_t i = 0; i < sizeof(through) / sizeof(through[0]); i++) {
        double took;

        w->dtype = through[i].dtype;
        w->to = through[i].to;
        took = bench_time(b, through[i].loop, w);
        bench_add(b, through[i].figure, "GB/s", through[i].bytes * (double)w->count / took * 1e-9,
                  bare * 1e-9, BENCH_AT_LEAST, 0.85);
    }
}

static void measure_matrices(struct bench *b, struct world *w)
{
    int64_t side = b->quick && w->side > QUICK_SIDE ? QUICK_SIDE : w->side;
    double n = (double)side, bare = 8 * (double)w->count / bench_time(b, copy_bare, w);

    w->side = side;
    w->dtype = FERRY_F32;
    bench_add(b, "cuda: gemv F32 : a copy", "GB/s", 4 * n * n / bench_time(b, gemv, w) * 1e-9,
              bare * 1e-9, BENCH_AT_LEAST, 0.85);
    bench_add(b, "cuda: gemm F32", "TFLOP/s", 2 * n * n * n / bench_time(b, gemm, w) * 1e-12, 0,
              BENCH_NO_GOAL, 0);
    w->dtype = FERRY_F16;
    bench_add(b, "cuda: gemm F16", "TFLOP/s", 2 * n * n * n / bench_time(b, gemm, w) * 1e-12, 0,
              BENCH_NO_GOAL, 0);
}

static void measure_operations(struct bench *b, const struct world *w)
{
    struct conv c;
    double seconds;

    for (int i = 0; i < CONV_SHAPES; i++) {
        char figure[96];

        if (b->quick && conv_gigaflops(&conv_shapes[i], 1) > QUICK_GIGAFLOPS)
            continue;
        snprintf(figure, sizeof(figure), "cuda: %s", conv_shapes[i].name);
        if (conv_device(&conv_shapes[i], w->device, &c) != 0) {
            bench_skip(b, figure, "%s", ferry_last_error());
            continue;
        }
        conv_measure(b, &c, 1, &seconds);
        bench_add(b, figure, "GFLOP/s", conv_gigaflops(&conv_shapes[i], seconds), 0, BENCH_NO_GOAL,
                  0);
        c.destroy(c.state);
    }
    conv_add_create(b, "cuda", w->device);
}

/* ---- state ---------------------------------------------------------------------------------- */

static int make(ferry_runtime *rt, struct world *w)
{
    int err = ferry_runtime_get_device(rt, NULL, &w->device), ordinal = 0;
    uint64_t memory;

    if (err)
        return err;
    w->queue = ferry_device_queue(w->device);
    memory = ferry_device_get_properties(w->device)->memory_total;
    for (w->count = MOST; w->count > 1024 && (uint64_t)w->count * 4 * 4 > memory;)
        w->count /= 2;
    for (w->side = SIDE; w->side * w->side > w->count;)
        w->side /= 2;
    for (int i = 0; i < 2 && !err; i++)
        err = ferry_memory_create(w->device, (size_t)w->count * 4, &w->memory[i]);
    if (err)
        return err;
    w->x = ferry_memory_overwrite_device_data(w->memory[0]);
    w->y = ferry_memory_overwrite_device_data(w->memory[1]);
    if (!w->x.handle || !w->y.handle)
        return ferry_last_error_code();
    err = ferry_math_fill(w->queue, FERRY_F16, w->count * 2, 0.1, w->x);
    if (!err)
        err = ferry_math_fill(w->queue, FERRY_F16, w->count * 2, 0.1, w->y);
    if (!err)
        err = ferry_device_native(w->device, "cuda_stream", &w->stream, sizeof(w->stream));
    if (!err)
        err = ferry_device_native(w->device, "cuda_device", &ordinal, sizeof(ordinal));
    return err ? err : cudaSetDevice(ordinal) == cudaSuccess ? 0 : FERRY_EDEVICE;
}

void bench_cuda_kernels(struct bench *b)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "cuda" };
    struct world w = { 0 };
    ferry_runtime *rt;

    if (ferry_runtime_open(&options, &rt) != 0) {
        bench_skip(b, "cuda: kernels", "%s", ferry_last_error());
        return;
    }
    if (make(rt, &w) == 0) {
        measure_memory(b, &w);
        measure_matrices(b, &w);
        measure_operations(b, &w);
    } else {
        bench_skip(b, "cuda: kernels", "%s", ferry_last_error());
    }
    for (int i = 0; i < 2; i++)
        ferry_memory_release(w.memory[i]);
    ferry_runtime_close(rt);
}
