/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "bench.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/*
 * A GPU compared with direct calls of CUDA, on the same memory and the same stream: 2^28 floats and
 * copies of 1 GiB, or less if the device is small.
 */

#define MOST (INT64_C(1) << 28)
#define SIDE 8192 /* of the matrices whose product overlaps with a copy, at most */

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

struct world {
    ferry_device *device;
    ferry_queue *queue, *second;
    ferry_blob *blob, *other;
    ferry_memory *moved, *unpinned;
    int64_t count;
    size_t bytes;
    cudaStream_t stream;
    cublasHandle_t blas;
    float *x, *y;       /* the blob's diff and data, on the device */
    void *there;        /* allocated with cudaMalloc */
    void *pinned, *own; /* host memory */
    int side;
    cublasStatus_t (*saxpy)(cublasHandle_t, int, const float *, const float *, int, float *, int);
    cublasStatus_t (*sgemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                            const float *, const float *, int, const float *, int, const float *,
                            float *, int);
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
    const struct world *w = arg;
    const float alpha = -1;

    for (int64_t i = 0; i < times; i++)
        w->saxpy(w->blas, (int)w->count, &alpha, w->x, 1, w->y, 1);
    cudaStreamSynchronize(w->stream);
}

static void bare_device_copy(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        cudaMemcpyAsync(w->there, w->x, w->bytes, cudaMemcpyDeviceToDevice, w->stream);
    cudaStreamSynchronize(w->stream);
}

/* ---- copies: written by the host, then read by the device ----------------------------------- */

static void send(const struct world *w, ferry_memory *m, int64_t times)
{
    for (int64_t i = 0; i < times; i++) {
        if (!ferry_memory_overwrite_host_data(m) || !ferry_memory_device_data(m).handle)
            return;
        ferry_queue_synchronize(w->queue);
    }
}

static void to_device(void *arg, int64_t times)
{
    const struct world *w = arg;

    send(w, w->moved, times);
}

static void bare_to_device(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        cudaMemcpyAsync(w->there, w->pinned, w->bytes, cudaMemcpyHostToDevice, w->stream);
        cudaStreamSynchronize(w->stream);
    }
}

static void unpinned_to_device(void *arg, int64_t times)
{
    const struct world *w = arg;

    send(w, w->unpinned, times);
}

static void bare_unpinned(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        cudaMemcpyAsync(w->there, w->own, w->bytes, cudaMemcpyHostToDevice, w->stream);
        cudaStreamSynchronize(w->stream);
    }
}

/* ---- settled access, and allocation --------------------------------------------------------- */

static const void *volatile seen;

static void settled(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++)
        seen = ferry_blob_device_data(w->other).handle;
}

static void pool(void *arg, int64_t times)
{
    const struct world *w = arg;
    ferry_memory *m;

    for (int64_t i = 0; i < times; i++) {
        if (ferry_memory_create(w->device, 1 << 20, &m) != 0)
            return;
        seen = ferry_memory_overwrite_device_data(m).handle;
        ferry_memory_release(m);
    }
}

static void bare_malloc(void *arg, int64_t times)
{
    void *p;

    (void)arg;
    for (int64_t i = 0; i < times; i++) {
        if (cudaMalloc(&p, 1 << 20) != cudaSuccess)
            return;
        cudaFree(p);
    }
}

/* ---- a prefetch during a kernel ------------------------------------------------------------- */

static void multiply(const struct world *w)
{
    const float one = 1, zero = 0;

    w->sgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, w->side, w->side, w->side, &one, w->x, w->side,
             w->x, w->side, &zero, w->y, w->side);
}

static void kernels_alone(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        multiply(w);
        ferry_queue_synchronize(w->queue);
    }
}

/* On a queue of its own, so that it does not wait for the kernel. */
static void prefetch(const struct world *w)
{
    if (ferry_memory_overwrite_host_data(w->moved))
        ferry_memory_prefetch(w->moved, w->device, w->second);
}

static void prefetch_alone(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        prefetch(w);
        ferry_queue_synchronize(w->second);
    }
}

static void both(void *arg, int64_t times)
{
    const struct world *w = arg;

    for (int64_t i = 0; i < times; i++) {
        prefetch(w);
        multiply(w);
        ferry_queue_synchronize(w->queue);
        ferry_queue_synchronize(w->second);
    }
}

static void overlap(struct bench *b, struct world *w)
{
    double kernel = bench_time(b, kernels_alone, w), copy = bench_time(b, prefetch_alone, w);
    double together = bench_time(b, both, w), shorter = kernel < copy ? kernel : copy;

    bench_add(b, "cuda: part of a prefetch that overlaps with a kernel", "",
              (kernel + copy - together) / shorter, 0, BENCH_AT_LEAST, 0.9);
}

/* ---- the rows ------------------------------------------------------------------------------- */

static void measure(struct bench *b, struct world *w)
{
    double bytes = (double)w->bytes;
    const struct bench_figure figures[] = {
        { "cuda: update : cublasSaxpy", update, bare_saxpy, w, 3 * bytes, BENCH_AT_LEAST, 0.98 },
        { "cuda: host to device, pinned : cudaMemcpyAsync", to_device, bare_to_device, w, bytes,
          BENCH_AT_LEAST, 0.95 },
        { "cuda: host to device, unpinned : cudaMemcpyAsync", unpinned_to_device, bare_unpinned, w,
          bytes, BENCH_AT_LEAST, 0.95 },
        { "cuda: settled device_data : a call", settled, bench_bare_call, w, 0, BENCH_AT_MOST,
          1.3 },
        { "cuda: alloc and free : cudaMalloc, cudaFree", pool, bare_malloc, w, 0, BENCH_AT_MOST,
          0.1 },
    };
    double seconds = bench_measure(b, &figures[0]);
    double copy = bench_time(b, bare_device_copy, w);

    bench_add(b, "cuda: update : copy within the device", "GB/s", 3 * bytes / seconds * 1e-9,
              2 * bytes / copy * 1e-9, BENCH_AT_LEAST, 0.9);
    for (size_t i = 1; i < sizeof(figures) / sizeof(figures[0]); i++)
        bench_measure(b, &figures[i]);
    overlap(b, w);
}

static int make_blobs(struct world *w)
{
    int64_t small = 120;
    int err = ferry_blob_create(w->device, FERRY_F32, &w->count, 1, &w->blob);

    if (!err)
        err = ferry_blob_fill_data(w->blob, 1);
    if (!err)
        err = ferry_blob_fill_diff(w->blob, 0);
    if (!err)
        err = ferry_blob_create(w->device, FERRY_F32, &small, 1, &w->other);
    if (!err)
        err = ferry_blob_fill_data(w->other, 1);
    if (!err)
        err = ferry_memory_create(w->device, w->bytes, &w->moved);
    if (!err)
        err = ferry_memory_create(w->device, w->bytes, &w->unpinned);
    if (!err)
        err = ferry_memory_adopt(w->unpinned, NULL, (ferry_ref){ w->own, 0 }, w->bytes, 0, NULL,
                                 NULL);
    if (!err)
        err = ferry_queue_create(w->device, &w->second);
    if (err)
        return err;
    w->x = ferry_device_pointer(w->device, ferry_blob_mutable_device_diff(w->blob));
    w->y = ferry_device_pointer(w->device, ferry_blob_mutable_device_data(w->blob));
    return w->x && w->y ? 0 : ferry_last_error_code();
}

/* The plugin has loaded cuBLAS by now. */
static int make_bare(struct world *w)
{
    void *cublas = dlopen("libcublas.so." TEXT(CUBLAS_VER_MAJOR), RTLD_NOW);
    int ordinal = 0;
    int err = ferry_device_native(w->device, "cuda_stream", &w->stream, sizeof(w->stream));

    if (!err)
        err = ferry_device_native(w->device, "cublas_handle", &w->blas, sizeof(w->blas));
    if (!err)
        err = ferry_device_native(w->device, "cuda_device", &ordinal, sizeof(ordinal));
    if (err)
        return err;
    *(void **)&w->saxpy = cublas ? dlsym(cublas, TEXT(cublasSaxpy)) : NULL;
    *(void **)&w->sgemm = cublas ? dlsym(cublas, TEXT(cublasSgemm)) : NULL;
    if (!w->saxpy || !w->sgemm || cudaSetDevice(ordinal) != cudaSuccess ||
        cudaMalloc(&w->there, w->bytes) != cudaSuccess ||
        cudaHostAlloc(&w->pinned, w->bytes, cudaHostAllocPortable) != cudaSuccess)
        return FERRY_EDEVICE;
    memset(w->pinned, 0, w->bytes);
    return 0;
}

static int make(ferry_runtime *rt, struct world *w)
{
    int err = ferry_runtime_get_device(rt, NULL, &w->device);
    uint64_t memory;

    if (err)
        return err;
    w->queue = ferry_device_queue(w->device);
    memory = ferry_device_get_properties(w->device)->memory_total;
    for (w->count = MOST; w->count > 1024 && (uint64_t)w->count * 4 * 6 > memory;)
        w->count /= 2;
    w->bytes = (size_t)w->count * sizeof(float);
    for (w->side = SIDE; (int64_t)w->side * w->side > w->count / 2;)
        w->side /= 2;
    w->own = calloc(1, w->bytes);
    err = w->own ? make_blobs(w) : FERRY_ENOMEM;
    return err ? err : make_bare(w);
}

static void take_apart(struct world *w)
{
    ferry_queue_destroy(w->second);
    ferry_blob_destroy(w->blob);
    ferry_blob_destroy(w->other);
    ferry_memory_release(w->moved);
    ferry_memory_release(w->unpinned);
    if (w->there)
        cudaFree(w->there);
    if (w->pinned)
        cudaFreeHost(w->pinned);
    free(w->own);
}

void bench_cuda(struct bench *b)
{
    const ferry_runtime_options options = { .struct_size = sizeof(options), .backend = "cuda" };
    struct world w = { 0 };
    ferry_runtime *rt;

    if (ferry_runtime_open(&options, &rt) != 0) {
        bench_skip(b, "cuda", "%s", ferry_last_error());
        return;
    }
    if (make(rt, &w) == 0)
        measure(b, &w);
    else
        bench_skip(b, "cuda", "%s", ferry_last_error());
    take_apart(&w);
    ferry_runtime_close(rt);
}
