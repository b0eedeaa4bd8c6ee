/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const ferry_plugin_ops *cuda;
const struct cuda_double_control *control;
struct cuda_runtime rt;

static struct {
    const char *keys[16], *values[16];
    size_t count;
} options;

static _Thread_local char error_text[512];
static _Thread_local int error_code;

/* ---- the host table ---- */

static int host_error(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(error_text, sizeof(error_text), fmt, args);
    va_end(args);
    error_code = code;
    return code;
}

static void host_log(int level, const char *fmt, ...)
{
    (void)level, (void)fmt;
}

static const char *host_option(const char *key)
{
    for (size_t i = options.count; i-- > 0;)
        if (!strcmp(options.keys[i], key))
            return options.values[i];
    return NULL;
}

static const ferry_host host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
};

/* ---- loading ---- */

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

/* The runtime that came with the plugin. */
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
    *(void **)&rt.event_create = symbol(library, "cudaEventCreateWithFlags");
    *(void **)&rt.event_destroy = symbol(library, "cudaEventDestroy");
    *(void **)&rt.event_record = symbol(library, "cudaEventRecord");
    *(void **)&rt.malloc = symbol(library, "cudaMalloc");
    *(void **)&rt.free = symbol(library, "cudaFree");
    *(void **)&rt.free_host = symbol(library, "cudaFreeHost");
    *(void **)&rt.memcpy_async = symbol(library, "cudaMemcpyAsync");
    *(void **)&rt.memset_async = symbol(library, "cudaMemsetAsync");
}

static bool load(void)
{
    const char *top = getenv("FERRY_TEST_BUILDDIR");
    int (*open)(const ferry_host *, const ferry_plugin_ops **);
    char path[4096];
    void *library;

    snprintf(path, sizeof(path), "%s/backends/.libs/ferry_cuda.so", top ? top : ".");
    if (access(path, R_OK) != 0) {
        ferry_test_skip("%s was not built", path);
        return false;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        ferry_test_skip("%s", dlerror());
        return false;
    }
    *(void **)&open = symbol(library, "ferry_plugin_open");
    bind_runtime();
    CU_ASSERT_EQUAL_FATAL(open(&host, &cuda), 0);
    return true;
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

    options.count = 0;
    snprintf(number, sizeof(number), "%d", devices);
    setenv("CUDA_DOUBLE_DEVICES", number, 1);
    setenv("CUDA_DOUBLE_MEMORY", "1073741824", 1);
    setenv("CUDA_DOUBLE_POOLS", "1", 1);
    setenv("CUDA_DOUBLE_PEERS", "1", 1);
    setenv("CUDA_DOUBLE_UNIFIED", "0", 1);
    setenv("CUDA_DOUBLE_DRIVER", "ok", 1);
    if (!cuda && !load())
        return false;
    if (on_double && !control)
        ferry_test_skip("it asks the doubles, and these are the real libraries");
    else if (!control && (cuda->device_count(NULL, &count) || (int)count < devices))
        ferry_test_skip("it takes %d devices, and %u are there", devices, count);
    else
        return true;
    return false;
}

void cuda_set(const char *key, const char *value)
{
    CU_ASSERT_FATAL(options.count < sizeof(options.keys) / sizeof(options.keys[0]));
    options.keys[options.count] = key;
    options.values[options.count++] = value;
}

/* ---- what tests do all the time ---- */

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
    ferry_plugin_counters c = { .struct_size = sizeof(c) };

    CU_ASSERT_EQUAL(cuda->counters(dev, &c), 0);
    CU_ASSERT_EQUAL(c.live_blocks, 0);
    CU_ASSERT_EQUAL(c.live_bytes, 0);
    CU_ASSERT_EQUAL(c.live_host_blocks, 0);
    CU_ASSERT_EQUAL(c.live_imports, 0);
    CU_ASSERT_EQUAL(c.live_maps, 0);
    CU_ASSERT_EQUAL(c.live_queues, 0);
    CU_ASSERT_EQUAL(c.live_events, 0);
    cuda->device_close(dev);
}

bool cuda_failed(int result, int code, const char *part)
{
    bool as_said = result == code && error_code == code && strstr(error_text, part);

    if (!as_said)
        printf("     got %d, \"%s\"\n", result, error_text);
    error_code = 0;
    return as_said;
}

const char *cuda_error(void)
{
    return error_text;
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

ferry_ref cuda_ref(void *handle, uint64_t offset)
{
    return (ferry_ref){ handle, offset };
}

ferry_cref cuda_cref(const void *handle, uint64_t offset)
{
    return (ferry_cref){ handle, offset };
}

void cuda_put(void *dev, void *handle, const void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(
        cuda->memcpy(dev, NULL, FERRY_MEMCPY_H2D, cuda_ref(handle, 0), cuda_cref(bytes, 0), size),
        0);
}

void cuda_get(void *dev, const void *handle, void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(
        cuda->memcpy(dev, NULL, FERRY_MEMCPY_D2H, cuda_ref(bytes, 0), cuda_cref(handle, 0), size),
        0);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, NULL), 0);
}
