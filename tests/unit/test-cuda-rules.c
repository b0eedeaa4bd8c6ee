/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The rules of tests/doubles/README.md, each broken once like a program would: the double must
 * detect it. test-cuda-faults tests pointers, streams and events, test-cuda-dnn cuDNN,
 * test-cuda-libraries cuBLAS and libnvrtc.
 */

#define CUDA_D2D                3
#define CUDA_MAPPED             2u
#define CUDA_PORTABLE           1u
#define CUDA_UNREGISTERED       0
#define CUDA_HOST               1
#define CUDA_NOT_INITIALIZED    3
#define CUDA_INVALID_DEVICE     101
#define CUDA_INVALID_IMAGE      200
#define CUDA_NOT_FOUND          500
#define CUDA_INVALID_CONTEXT    201
#define CUDA_ALREADY_REGISTERED 712
#define CAPTURE_UNSUPPORTED     900
#define CAPTURE_INVALIDATED     901
#define CAPTURE_WRONG_THREAD    908
#define CUDA_NOT_REGISTERED     713
#define FATBIN_MAGIC           \
    {                          \
        0x50, 0xed, 0x55, 0xba \
    }
#define BLOCK   128 /* number of threads for which the plugin's kernels are compiled */
#define NUMBERS 6   /* the parameter after the pointers */

struct pool_properties { /* cudaMemPoolProps */
    int type, handles, location, device;
    unsigned char rest[72];
};

struct attributes { /* cudaPointerAttributes */
    int type, device;
    void *rest[16];
};

/* Functions that the plugin's tests do not need; libraries are found by name. */
#define CALLS(X)                                                                            \
    X("libcudart", host_alloc, cudaHostAlloc, void **, size_t, unsigned)                    \
    X("libcudart", host_register, cudaHostRegister, void *, size_t, unsigned)               \
    X("libcudart", host_unregister, cudaHostUnregister, void *)                             \
    X("libcudart", attributes, cudaPointerGetAttributes, struct attributes *, const void *) \
    X("libcudart", pool_create, cudaMemPoolCreate, void **, const struct pool_properties *) \
    X("libcudart", pool_destroy, cudaMemPoolDestroy, void *)                                \
    X("libcudart", pool_malloc, cudaMallocFromPoolAsync, void **, size_t, void *, void *)   \
    X("libcudart", free_async, cudaFreeAsync, void *, void *)                               \
    X("libcudart", enable_peer, cudaDeviceEnablePeerAccess, int, unsigned)                  \
    X("libcudart", device_sync, cudaDeviceSynchronize, void)                                \
    X("libcudart", exchange_mode, cudaThreadExchangeStreamCaptureMode, int *)               \
    X("libcublas", blas_create, cublasCreate_v2, void **)                                   \
    X("libcublas", blas_destroy, cublasDestroy_v2, void *)

/* The driver's functions, by cudaGetDriverEntryPointByVersion or its predecessor. */
#define DRIVER(X)                                                                                 \
    X(set_current, cuCtxSetCurrent, void *)                                                       \
    X(release, cuDevicePrimaryCtxRelease, int)                                                    \
    X(load, cuModuleLoadData, void **, const void *)                                              \
    X(unload, cuModuleUnload, void *)                                                             \
    X(function, cuModuleGetFunction, void **, void *, const char *)                               \
    X(launch, cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
      unsigned, void *, void **, void **)

#define MEMBER(library, member, name, ...) int (*member)(__VA_ARGS__);
#define ENTRY(member, name, ...)           int (*member)(__VA_ARGS__);
static struct {
    CALLS(MEMBER)
    DRIVER(ENTRY)
} call;

static int (*entry_point)(const char *, void **, unsigned long long, int *);
static int (*entry_by_version)(const char *, void **, unsigned, unsigned long long, int *);

static void *driver_entry(const char *name)
{
    void *found = NULL;

    if (entry_by_version)
        (void)entry_by_version(name, &found, 11040, 0, NULL);
    else
        (void)entry_point(name, &found, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

/* From here on misuses are counted. */
static bool begin(void)
{
    if (!cuda_misuse_begin())
        return false;
    *(void **)(void *)&entry_point = dlsym(cuda_library("libcudart"), "cudaGetDriverEntryPoint");
    *(void **)(void *)&entry_by_version =
        dlsym(cuda_library("libcudart"), "cudaGetDriverEntryPointByVersion");
#define BIND(library, member, name, ...) \
    *(void **)(void *)&call.member = dlsym(cuda_library(library), #name);
    CALLS(BIND)
#define BIND_ENTRY(member, name, ...) *(void **)(void *)&call.member = driver_entry(#name);
    DRIVER(BIND_ENTRY)
    return true;
}

static void *device_block(size_t bytes)
{
    void *block = NULL;

    CU_ASSERT_EQUAL_FATAL(rt.malloc(&block, bytes), 0);
    return block;
}

static void *stream(void)
{
    void *made = NULL;

    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&made, CUDA_STREAM_NON_BLOCKING), 0);
    return made;
}

/* ---- memory --------------------------------------------------------------------------------- */

static void an_overlapping_copy_is_reported(void)
{
    char *block;

    if (!begin())
        return;
    block = device_block(64);
    CU_ASSERT_NOT_EQUAL(rt.memcpy_async(block + 8, block, 16, CUDA_D2D, NULL), 0);
    CU_ASSERT(cuda_said("source and destination overlap"));
    CU_ASSERT_EQUAL(rt.memcpy_async(block + 16, block, 16, CUDA_D2D, NULL), 0);
    CU_ASSERT_EQUAL(rt.stream_sync(NULL), 0);
    CU_ASSERT_EQUAL(rt.free(block), 0);
    cuda_misuse_end();
}

static void pool_memory_used_out_of_stream_order_is_reported(void)
{
    const struct pool_properties properties = { .type = 1, .location = 1, .device = 0 };
    struct attributes attributes;
    void *pool = NULL, *block = NULL, *first, *second;

    if (!begin())
        return;
    CU_ASSERT_EQUAL_FATAL(call.pool_create(&pool, &properties), 0);
    first = stream(), second = stream();
    control->hold_stream(first, 1);
    CU_ASSERT_EQUAL_FATAL(call.pool_malloc(&block, 64, pool, first), 0);
    CU_ASSERT_EQUAL(rt.memset_async(block, 0, 64, second), 0);
    CU_ASSERT_EQUAL(rt.stream_sync(second), 0);
    CU_ASSERT(cuda_said("is used before its stream has reached the allocation"));
    control->hold_stream(first, 0);
    CU_ASSERT_EQUAL(rt.stream_sync(first), 0);

    control->hold_stream(second, 1);
    CU_ASSERT_EQUAL(rt.memset_async(block, 0, 64, second), 0);
    CU_ASSERT_NOT_EQUAL(rt.free(block), 0);
    CU_ASSERT(cuda_said("cudaFree: ") && control->live_blocks(0) == 1);
    control->hold_stream(first, 1);
    CU_ASSERT_EQUAL(call.free_async(block, first), 0);
    CU_ASSERT_NOT_EQUAL(call.attributes(&attributes, block), 0);
    CU_ASSERT(cuda_said("is being freed in a stream's order"));
    control->hold_stream(first, 0);
    CU_ASSERT_EQUAL(rt.stream_sync(first), 0);
    CU_ASSERT(cuda_said("is freed while 1 commands of other streams still use it"));
    control->hold_stream(second, 0);
    CU_ASSERT_EQUAL(rt.stream_sync(second), 0);

    CU_ASSERT_EQUAL_FATAL(call.pool_malloc(&block, 64, pool, first), 0);
    (void)call.pool_destroy(pool);
    CU_ASSERT(cuda_said("1 blocks are left"));
    CU_ASSERT_EQUAL(rt.free(block), 0); /* its work is complete */
    CU_ASSERT(rt.stream_destroy(first) == 0 && rt.stream_destroy(second) == 0);
    cuda_misuse_end();
}

/* A program must not rely on its waiting. */
static void a_block_freed_while_in_use_is_reported(void)
{
    void *block, *made;

    if (!begin())
        return;
    block = device_block(64);
    made = stream();
    control->hold_stream(made, 1);
    CU_ASSERT_EQUAL(rt.memset_async(block, 0, 64, made), 0);
    CU_ASSERT_NOT_EQUAL(rt.free(block), 0);
    CU_ASSERT(cuda_said("is freed while 1 commands still use it"));
    control->hold_stream(made, 0);
    CU_ASSERT(rt.stream_sync(made) == 0 && rt.free(block) == 0);
    CU_ASSERT_EQUAL(rt.stream_destroy(made), 0);
    cuda_misuse_end();
}

/*
 * Errors, not misuses: registered memory cannot be registered again, and other memory is reported
 * as unregistered.
 */
static void memory_registered_twice_or_not_at_all_is_reported(void)
{
    static _Alignas(4096) char own[3 * 4096];
    struct attributes attributes = { .type = 9 };
    char *middle = own + 4096;

    if (!begin())
        return;
    CU_ASSERT(call.attributes(&attributes, own) == 0 && attributes.type == CUDA_UNREGISTERED);
    CU_ASSERT_EQUAL_FATAL(call.host_register(middle, 4096, CUDA_MAPPED), 0);
    CU_ASSERT(call.attributes(&attributes, middle) == 0 && attributes.type == CUDA_HOST);
    CU_ASSERT_EQUAL(call.host_register(middle, 4096, CUDA_MAPPED), CUDA_ALREADY_REGISTERED);
    CU_ASSERT_EQUAL(call.host_register(own + 1, 4096, CUDA_MAPPED), CUDA_ALREADY_REGISTERED);
    CU_ASSERT_EQUAL(call.host_register(middle + 4095, 2, CUDA_MAPPED), CUDA_ALREADY_REGISTERED);
    CU_ASSERT_EQUAL(call.host_register(own, 4096, CUDA_MAPPED), 0);
    CU_ASSERT_EQUAL(control->misuses(), 0);
    CU_ASSERT_EQUAL(call.host_unregister(middle + 1), CUDA_NOT_REGISTERED);
    CU_ASSERT(cuda_said("does not come from cudaHostRegister"));
    CU_ASSERT(call.host_unregister(own) == 0 && call.host_unregister(middle) == 0);
    CU_ASSERT_EQUAL(call.host_unregister(own), CUDA_NOT_REGISTERED);
    CU_ASSERT(cuda_said("does not come from cudaHostRegister"));
    cuda_misuse_end();
}

static void pinned_memory_freed_while_in_use_or_by_the_wrong_call_is_reported(void)
{
    static _Alignas(4096) char own[4096];
    void *pinned = NULL, *block;

    if (!begin())
        return;
    block = device_block(64);
    CU_ASSERT_EQUAL_FATAL(call.host_alloc(&pinned, 64, CUDA_PORTABLE), 0);
    control->hold(1);
    CU_ASSERT_EQUAL(rt.memcpy_async(block, pinned, 64, CUDA_H2D, NULL), 0);
    CU_ASSERT_NOT_EQUAL(rt.free_host(pinned), 0);
    CU_ASSERT(cuda_said("is in use by 1 commands"));
    control->hold(0);
    CU_ASSERT_EQUAL(rt.stream_sync(NULL), 0);
    CU_ASSERT_NOT_EQUAL(call.host_unregister(pinned), 0);
    CU_ASSERT(cuda_said("does not come from cudaHostRegister"));
    CU_ASSERT_EQUAL(rt.free_host(pinned), 0);
    CU_ASSERT_EQUAL_FATAL(call.host_register(own, sizeof(own), CUDA_MAPPED), 0);
    CU_ASSERT_NOT_EQUAL(rt.free_host(own), 0);
    CU_ASSERT(cuda_said("does not come from cudaHostAlloc"));
    CU_ASSERT_EQUAL(call.host_unregister(own), 0);
    CU_ASSERT_EQUAL(rt.free(block), 0);
    cuda_misuse_end();
}

/* ---- contexts ------------------------------------------------------------------------------- */

static void an_implicitly_created_context_is_found(void)
{
    void *block = NULL;

    if (!begin())
        return;
    CU_ASSERT_EQUAL(call.set_current(NULL), 0);
    CU_ASSERT_NOT_EQUAL(rt.malloc(&block, 64), 0);
    CU_ASSERT(cuda_said("no context is current"));
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
    CU_ASSERT_NOT_EQUAL(call.enable_peer(2, 0), 0);
    CU_ASSERT(cuda_said("device 2 has no context, and the call would create one"));
    CU_ASSERT_EQUAL(call.enable_peer(2, 1), CUDA_INVALID_VALUE);
    CU_ASSERT_EQUAL(call.enable_peer(0, 0), CUDA_INVALID_DEVICE);
    cuda_misuse_end();
}

static const unsigned char fatbin[16] = FATBIN_MAGIC;

static void a_context_destroyed_with_live_objects_is_reported(void)
{
    void *module = NULL, *blas = NULL, *made;

    if (!begin())
        return;
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    (void)device_block(64); /* the context frees it */
    made = stream();
    CU_ASSERT_EQUAL_FATAL(call.load(&module, fatbin), 0);
    (void)call.release(1);
    CU_ASSERT(cuda_said("the context of device 1 ends with 1 streams, 1 blocks and 1 modules"));
    CU_ASSERT_EQUAL(rt.set_device(1), 0); /* the same again */
    CU_ASSERT(rt.stream_destroy(made) == 0 && call.unload(module) == 0);
    (void)call.release(1);
    CU_ASSERT_EQUAL(control->misuses(), 0);
    CU_ASSERT_EQUAL(call.release(1), CUDA_INVALID_CONTEXT);
    CU_ASSERT(cuda_said("device 1 has no context"));
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL_FATAL(call.blas_create(&blas), 0);
    (void)call.release(1);
    CU_ASSERT(cuda_said("the context of device 1 ends before 1 handles"));
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL(call.blas_destroy(blas), 0);
    (void)call.release(1);
    control->tolerate(1);
    cuda_misuse_end();
}

static void cuda_calls_in_a_forked_child_fail(void)
{
    void *block = NULL;
    pid_t child;
    int status = 0;

    if (!begin())
        return;
    block = device_block(64); /* initialized */
    child = fork();
    if (child == 0)
        _exit(rt.malloc(&block, 64) == CUDA_NOT_INITIALIZED ? 0 : 1);
    CU_ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CU_ASSERT_EQUAL(rt.free(block), 0);
    cuda_misuse_end();
}

static void work_on_a_captured_stream_is_reported(void)
{
    void *made, *block, *graph = NULL;

    if (!begin())
        return;
    block = device_block(64);
    made = stream();
    CU_ASSERT_EQUAL_FATAL(rt.begin_capture(made, 0), 0);
    (void)rt.memset_async(block, 0, 64, made);
    CU_ASSERT(cuda_said("the program is capturing the stream"));
    CU_ASSERT_EQUAL(rt.end_capture(made, &graph), 0);
    CU_ASSERT(rt.stream_sync(made) == 0 && rt.stream_destroy(made) == 0 && rt.free(block) == 0);
    cuda_misuse_end();
}

enum { CAPTURE_GLOBAL, CAPTURE_OF_THREAD, CAPTURE_RELAXED };

struct allocation {
    int mode, result; /* of the thread that allocates; of cudaMalloc */
};

static void *allocate(void *argument)
{
    struct allocation *a = argument;
    void *block = NULL;

    (void)rt.set_device(0);
    (void)call.exchange_mode(&a->mode);
    a->result = rt.malloc(&block, 64);
    if (!a->result)
        (void)rt.free(block);
    return NULL;
}

static int allocate_elsewhere(int mode)
{
    struct allocation a = { mode, -1 };
    pthread_t thread;

    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, allocate, &a), 0);
    pthread_join(thread, NULL);
    return a.result;
}

/*
 * The result depends on the mode of the capture and on that of the calling thread, which may be
 * the capturing thread or another one.
 */
static void unordered_calls_during_a_capture_are_reported(void)
{
    static const struct {
        int captured, elsewhere, result;
    } row[] = {
        { CAPTURE_GLOBAL, CAPTURE_GLOBAL, CAPTURE_UNSUPPORTED },
        { CAPTURE_GLOBAL, CAPTURE_OF_THREAD, 0 },
        { CAPTURE_GLOBAL, CAPTURE_RELAXED, 0 },
        { CAPTURE_OF_THREAD, CAPTURE_GLOBAL, 0 },
        { CAPTURE_RELAXED, CAPTURE_GLOBAL, 0 },
    };
    void *made, *block, *graph;

    if (!begin())
        return;
    made = stream();
    for (size_t i = 0; i < FERRY_TEST_COUNT(row); i++) {
        CU_ASSERT_EQUAL_FATAL(rt.begin_capture(made, row[i].captured), 0);
        CU_ASSERT_EQUAL(allocate_elsewhere(row[i].elsewhere), row[i].result);
        CU_ASSERT_EQUAL(rt.end_capture(made, &graph), row[i].result ? CAPTURE_INVALIDATED : 0);
    }
    for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
        CU_ASSERT_EQUAL_FATAL(rt.begin_capture(made, mode), 0);
        CU_ASSERT_EQUAL(rt.malloc(&block, 64), mode == CAPTURE_RELAXED ? 0 : CAPTURE_UNSUPPORTED);
        CU_ASSERT_EQUAL(rt.end_capture(made, &graph),
                        mode == CAPTURE_RELAXED ? 0 : CAPTURE_INVALIDATED);
    }
    CU_ASSERT_EQUAL(rt.free(block), 0);
    CU_ASSERT_EQUAL_FATAL(rt.begin_capture(made, CAPTURE_RELAXED), 0);
    CU_ASSERT_EQUAL(call.device_sync(), CAPTURE_UNSUPPORTED);
    CU_ASSERT_EQUAL(rt.end_capture(made, &graph), CAPTURE_INVALIDATED);
    CU_ASSERT_EQUAL(rt.stream_destroy(made), 0);
    cuda_misuse_end();
}

static void *end_elsewhere(void *captured)
{
    void *graph;

    (void)rt.set_device(0);
    return (void *)(intptr_t)rt.end_capture(captured, &graph);
}

static void a_capture_ended_by_another_thread_is_reported(void)
{
    void *made, *graph, *result;
    pthread_t thread;

    if (!begin())
        return;
    made = stream();
    for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
        CU_ASSERT_EQUAL_FATAL(rt.begin_capture(made, mode), 0);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, end_elsewhere, made), 0);
        pthread_join(thread, &result);
        CU_ASSERT_EQUAL((intptr_t)result, mode == CAPTURE_RELAXED ? 0 : CAPTURE_WRONG_THREAD);
        if (mode != CAPTURE_RELAXED)
            CU_ASSERT_EQUAL(rt.end_capture(made, &graph), 0);
    }
    CU_ASSERT_NOT_EQUAL(rt.begin_capture(NULL, CAPTURE_RELAXED), 0);
    CU_ASSERT(cuda_said("of the legacy default stream"));
    CU_ASSERT_EQUAL(rt.stream_destroy(made), 0);
    cuda_misuse_end();
}

static void an_entry_point_without_its_version_is_reported(void)
{
    void *found = NULL;

    if (!begin())
        return;
    if (!entry_by_version) {
        ferry_test_skip("built for CUDA before 12, which has one form");
    } else {
        CU_ASSERT_NOT_EQUAL(entry_point("cuStreamGetCtx", &found, 0, NULL), 0);
        CU_ASSERT(cuda_said("cuStreamGetCtx has two forms"));
    }
    cuda_misuse_end();
}

/* ---- launches ------------------------------------------------------------------------------- */

static void an_invalid_launch_is_reported(void)
{
    static const struct {
        unsigned grid[3], block, shared;
        const char *what;
    } row[] = {
        { { 0x80000000u, 1, 1 }, BLOCK, 0, "a grid beyond the device's limit" },
        { { 1, 65536, 1 }, BLOCK, 0, "a grid beyond the device's limit" },
        { { 0, 1, 1 }, BLOCK, 0, "a grid beyond the device's limit" },
        { { 1, 1, 1 }, 1025, 0, "a block beyond the device's limit" },
        { { 1, 1, 1 }, BLOCK / 2, 0, "the kernel was compiled for another block size" },
        { { 1, 1, 1 }, BLOCK, 49153, "more shared memory than the limit of a block" },
    };
    void *module = NULL, *f = NULL, *nothing = NULL, *params[NUMBERS + 1];

    if (!begin())
        return;
    CU_ASSERT_EQUAL_FATAL(call.load(&module, fatbin), 0);
    CU_ASSERT_EQUAL_FATAL(call.function(&f, module, "unary"), 0);
    for (int i = 0; i <= NUMBERS; i++)
        params[i] = &nothing;
    for (size_t i = 0; i < FERRY_TEST_COUNT(row); i++) {
        CU_ASSERT_NOT_EQUAL(call.launch(f, row[i].grid[0], row[i].grid[1], row[i].grid[2],
                                        row[i].block, 1, 1, row[i].shared, NULL, params, NULL),
                            0);
        CU_ASSERT(cuda_said(row[i].what));
    }
#define LAUNCH(with) call.launch(f, 1, 1, 1, BLOCK, 1, 1, 0, NULL, with, NULL)
    CU_ASSERT(LAUNCH(NULL) != 0 && cuda_said("parameters in the packed form"));
    params[2] = NULL;
    CU_ASSERT(LAUNCH(params) != 0 && cuda_said("parameter 2 is missing"));
    params[2] = &nothing;
    params[NUMBERS] = NULL;
    CU_ASSERT(LAUNCH(params) != 0 && cuda_said("the numbers are missing"));
    params[NUMBERS] = &nothing;
    params[0] = &module;
    CU_ASSERT(LAUNCH(params) != 0 && cuda_said("a device pointer is required"));
    CU_ASSERT_EQUAL(call.unload(module), 0);
    cuda_misuse_end();
}

static void a_module_of_another_context_is_reported(void)
{
    void *module = NULL, *f = NULL, *other = NULL, *nothing = NULL, *params[NUMBERS + 1];

    if (!begin())
        return;
    for (int i = 0; i <= NUMBERS; i++)
        params[i] = &nothing;
    CU_ASSERT_EQUAL_FATAL(call.load(&module, fatbin), 0);
    CU_ASSERT_EQUAL_FATAL(call.function(&f, module, "unary"), 0);
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT(LAUNCH(params) != 0 && cuda_said("is not a function of this context"));
    CU_ASSERT(call.function(&other, module, "unary") != 0);
    CU_ASSERT(cuda_said("is not a module of this context"));
    CU_ASSERT(call.unload(module) != 0 && cuda_said("cuModuleUnload"));
    (void)call.release(1);
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL(call.function(&other, module, "no_such_kernel"), CUDA_NOT_FOUND);
    CU_ASSERT_EQUAL(call.unload(module), 0);
    CU_ASSERT_EQUAL(call.load(&module, "nothing of CUDA's"), CUDA_INVALID_IMAGE);
    CU_ASSERT_EQUAL(control->misuses(), 0); /* these two are errors */
    cuda_misuse_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_overlapping_copy_is_reported),
    FERRY_TEST(pool_memory_used_out_of_stream_order_is_reported),
    FERRY_TEST(a_block_freed_while_in_use_is_reported),
    FERRY_TEST(memory_registered_twice_or_not_at_all_is_reported),
    FERRY_TEST(pinned_memory_freed_while_in_use_or_by_the_wrong_call_is_reported),
    FERRY_TEST(an_implicitly_created_context_is_found),
    FERRY_TEST(a_context_destroyed_with_live_objects_is_reported),
    FERRY_TEST(cuda_calls_in_a_forked_child_fail),
    FERRY_TEST(work_on_a_captured_stream_is_reported),
    FERRY_TEST(unordered_calls_during_a_capture_are_reported),
    FERRY_TEST(a_capture_ended_by_another_thread_is_reported),
    FERRY_TEST(an_entry_point_without_its_version_is_reported),
    FERRY_TEST(an_invalid_launch_is_reported),
    FERRY_TEST(a_module_of_another_context_is_reported),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "cuda rules (double)", cases, FERRY_TEST_COUNT(cases));
}
