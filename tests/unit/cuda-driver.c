/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <ferry/op_plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ferry_plugin_ops *cuda;
const struct cuda_double_control *control;
struct cuda_runtime rt;

/* ---- loading ---- */

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

/* The runtime that the plugin has loaded. */
static void bind_runtime(void)
{
    void *library = cuda_library("libcudart");

    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    control = cuda_double_find();
    *(void **)&rt.set_device = symbol(library, "cudaSetDevice");
    *(void **)&rt.get_device = symbol(library, "cudaGetDevice");
    *(void **)&rt.last_error = symbol(library, "cudaGetLastError");
    *(void **)&rt.stream_create = symbol(library, "cudaStreamCreateWithFlags");
    *(void **)&rt.stream_destroy = symbol(library, "cudaStreamDestroy");
    *(void **)&rt.stream_sync = symbol(library, "cudaStreamSynchronize");
    *(void **)&rt.begin_capture = symbol(library, "cudaStreamBeginCapture");
    *(void **)&rt.end_capture = symbol(library, "cudaStreamEndCapture");
    *(void **)&rt.exchange_mode = symbol(library, "cudaThreadExchangeStreamCaptureMode");
    *(void **)&rt.event_create = symbol(library, "cudaEventCreateWithFlags");
    *(void **)&rt.event_destroy = symbol(library, "cudaEventDestroy");
    *(void **)&rt.event_record = symbol(library, "cudaEventRecord");
    *(void **)&rt.malloc = symbol(library, "cudaMalloc");
    *(void **)&rt.free = symbol(library, "cudaFree");
    *(void **)&rt.free_host = symbol(library, "cudaFreeHost");
    *(void **)&rt.memcpy_async = symbol(library, "cudaMemcpyAsync");
    *(void **)&rt.memset_async = symbol(library, "cudaMemsetAsync");
}

void *cuda_cublas(const char *name)
{
    void *library = cuda_library("libcublas");

    CU_ASSERT_PTR_NOT_NULL_FATAL(library);
    return symbol(library, name);
}

const char *cuda_suite(const char *name)
{
    static char title[64];

    snprintf(title, sizeof(title), "%s%s", name, getenv("FERRY_TEST_NO_DOUBLE") ? "" : " (double)");
    return title;
}

bool cuda_load(int devices, bool on_double)
{
    char number[16];
    uint32_t count = 0;

    driver_reset();
    snprintf(number, sizeof(number), "%d", devices);
    setenv("CUDA_DOUBLE_DEVICES", number, 1);
    setenv("CUDA_DOUBLE_MEMORY", "1073741824", 1);
    setenv("CUDA_DOUBLE_POOLS", "1", 1);
    setenv("CUDA_DOUBLE_PEERS", "1", 1);
    setenv("CUDA_DOUBLE_UNIFIED", "0", 1);
    setenv("CUDA_DOUBLE_DRIVER", "ok", 1);
    unsetenv("CUDA_DOUBLE_CAPABILITY");
    setenv("CUDA_DOUBLE_NOT_READY", "", 1);
    if (!cuda) {
        cuda = driver_load("cuda", NULL);
        if (!cuda)
            return false;
        bind_runtime();
    }
    if (on_double && !control)
        ferry_test_skip("it requires the doubles, and these are the real libraries");
    else if (!control && (cuda->device_count(NULL, &count) || (int)count < devices))
        ferry_test_skip("it requires %d devices, and there are %u", devices, count);
    else
        return true;
    return false;
}

/* ---- calls that the doubles reject  */

bool cuda_misuse_begin(void)
{
    const void *table = NULL;
    void *dev;

    if (!cuda_load(3, true))
        return false;
    driver_set("kernels", "compile");
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->extension(dev, FERRY_OP_EXTENSION, &table), 0); /* loads libnvrtc */
    cuda_close(dev);
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
    control->tolerate(1);
    return true;
}

void cuda_misuse_end(void)
{
    control->tolerate(0);
    (void)rt.last_error();
}

bool cuda_said(const char *part)
{
    bool found = control->misuses() && strstr(control->misuse(), part);

    if (!found)
        printf("     wanted \"%s\", got \"%s\"\n", part, control->misuse());
    control->tolerate(1);
    return found;
}

/* ---- helpers of the tests ---------- */

void *cuda_open(uint32_t index)
{
    uint32_t count = 0;
    void *dev = NULL;

    CU_ASSERT_EQUAL_FATAL(cuda->device_count(NULL, &count), 0);
    CU_ASSERT_EQUAL_FATAL(cuda->device_open(NULL, index, &dev), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
    return dev;
}

void cuda_close(void *dev)
{
    driver_close(cuda, dev);
}

void *cuda_block(void *dev, uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags = 99;

    CU_ASSERT_EQUAL_FATAL(cuda->alloc(dev, NULL, bytes, 0, &handle, &flags), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(handle);
    CU_ASSERT_EQUAL((uintptr_t)handle % 64, 0);
    CU_ASSERT_EQUAL(flags, 0);
    return handle;
}

void cuda_free_block(void *dev, void *handle)
{
    CU_ASSERT_EQUAL(cuda->free(dev, NULL, handle), 0);
}

void *cuda_pinned(void *dev, uint64_t bytes)
{
    void *ptr = NULL;
    uint32_t flags = 99;

    CU_ASSERT_EQUAL_FATAL(cuda->host_alloc(dev, bytes, 0, &ptr, &flags), 0);
    CU_ASSERT_EQUAL((uintptr_t)ptr % 64, 0);
    return ptr;
}

void cuda_put(void *dev, void *handle, const void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(cuda->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(handle, 0),
                                 driver_cref(bytes, 0), size),
                    0);
}

void cuda_get(void *dev, const void *handle, void *bytes, uint64_t size)
{
    driver_get(cuda, dev, driver_cref(handle, 0), bytes, size);
}
