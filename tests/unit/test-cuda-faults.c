/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <ferry/profile_plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CUDA plugin when the vendor's calls fail, at once or later; and the doubles themselves, which
 * must detect forbidden uses of CUDA.
 */

/* ---- each call, failed ---- */

/* A program, step by step; the first failure ends it, and everything is freed. */
struct session {
    void *dev, *block, *pinned, *queue, *event;
};

static int begin(struct session *s)
{
    uint32_t count, flags;
    int err = cuda->device_count(NULL, &count);

    if (!err)
        err = cuda->device_open(NULL, 1, &s->dev); /* not the current one */
    if (!err)
        err = cuda->alloc(s->dev, NULL, 256, 0, &s->block, &flags);
    if (!err)
        err = cuda->host_alloc(s->dev, 256, 0, &s->pinned, &flags);
    if (!err)
        err = cuda->queue_create(s->dev, 0, &s->queue);
    return err;
}

static int compute(struct session *s)
{
    ferry_ref at = { s->block, 0 }, result = { s->block, 128 };
    ferry_cref in = { s->block, 0 };
    int err = cuda->memcpy(s->dev, NULL, FERRY_MEMCPY_H2D, at, driver_cref(s->pinned, 0), 64);

    if (!err)
        err = cuda->memset(s->dev, NULL, at, 0, 64);
    if (!err)
        err = cuda->fill(s->dev, NULL, FERRY_F64, 3, 0.1, driver_ref(s->block, 64));
    if (!err)
        err = cuda->fill(s->dev, NULL, FERRY_F16, 3, 0.1, driver_ref(s->block, 64));
    if (!err)
        err = cuda->axpy(s->dev, NULL, FERRY_F32, 8, 2, in, driver_ref(s->block, 32));
    if (!err)
        err = cuda->scal(s->dev, NULL, FERRY_BF16, 8, 2, at);
    if (!err)
        err = cuda->dot(s->dev, NULL, FERRY_F16, 8, in, in, result);
    if (!err)
        err = cuda->asum(s->dev, NULL, FERRY_F64, 4, in, result);
    if (!err)
        err = cuda->asum(s->dev, NULL, FERRY_BF16, 4, in, result);
    if (!err)
        err = cuda->gemv(s->dev, NULL, FERRY_F32, FERRY_TRANS, 2, 2, 1, in, 2, in, 1, 0, result, 1);
    if (!err)
        err = cuda->gemm(s->dev, NULL, FERRY_F16, FERRY_TRANS, FERRY_TRANS, 2, 2, 2, 1, in, 2, in,
                         2, 0, result, 2);
    return err;
}

static int end(struct session *s)
{
    int err = cuda->event_record(s->dev, NULL, &s->event);

    if (!err)
        err = cuda->queue_wait(s->dev, s->queue, s->event);
    if (!err && (err = cuda->event_query(s->dev, s->event)) > 0)
        err = 0;
    if (!err)
        err = cuda->event_synchronize(s->dev, s->event);
    if (!err)
        err = cuda->queue_synchronize(s->dev, s->queue);
    if (!err)
        err = cuda->trim(s->dev);
    if (!err)
        err = cuda->synchronize(s->dev);
    return err;
}

static void give_back(struct session *s)
{
    if (!s->dev)
        return;
    cuda->synchronize(s->dev);
    if (s->event)
        CU_ASSERT_EQUAL(cuda->event_destroy(s->dev, s->event), 0);
    if (s->queue)
        CU_ASSERT_EQUAL(cuda->queue_destroy(s->dev, s->queue), 0);
    if (s->pinned)
        CU_ASSERT_EQUAL(cuda->host_free(s->dev, s->pinned), 0);
    if (s->block)
        cuda_free_block(s->dev, s->block);
    cuda_close(s->dev);
}

static bool nothing_is_left(void)
{
    bool nothing = !control->contexts(1) && !control->live_blocks(1) && !control->live_pinned() &&
                   !control->live_streams() && !control->live_events() &&
                   !control->live_handles() && !control->live_pools();

    if (!nothing)
        printf("     contexts %d, blocks %u, pinned %u, streams %u, events %u, handles %u, "
               "pools %u\n",
               control->contexts(1), control->live_blocks(1), control->live_pinned(),
               control->live_streams(), control->live_events(), control->live_handles(),
               control->live_pools());
    return nothing;
}

/* Runs all steps with the n-th call failing; returns the number of calls. */
static unsigned run_session(unsigned n, int *out_err)
{
    struct session s = { 0 };
    unsigned before = control->calls("");
    int err, ordinal = -1;

    control->fail("", n, CUDA_MEMORY_ALLOCATION);
    err = begin(&s);
    if (!err)
        err = compute(&s);
    if (!err)
        err = end(&s);
    control->fail("", 0, 0);
    before = control->calls("") - before;
    CU_ASSERT_EQUAL(rt.get_device(&ordinal), 0);
    CU_ASSERT(!err || !ordinal); /* no call failed: the n-th call was the one that restores the
                                  * context */
    give_back(&s);
    CU_ASSERT(nothing_is_left());
    *out_err = err;
    return before;
}

static void every_vendor_call_may_fail(void)
{
    for (int pools = 0; pools < 2; pools++) {
        unsigned calls, failures = 0;
        int err;

        if (!cuda_load(2, true))
            return;
        setenv("CUDA_DOUBLE_POOLS", pools ? "1" : "0", 1);
        calls = run_session(0, &err);
        CU_ASSERT_EQUAL(err, 0);
        CU_ASSERT(calls > 40);
        for (unsigned n = 1; n <= calls; n++) {
            run_session(n, &err);
            CU_ASSERT(err <= 0);
            CU_ASSERT_EQUAL(rt.last_error(), 0);
            failures += err < 0;
        }
        CU_ASSERT(failures >= calls / 2); /* the others restore the caller's context */
    }
}

/* ---- sections of "ferry.profile/1" ---- */

/* A section around one call, on a device that is open; the first failure ends it. */
static int measure(void *dev, void *block)
{
    ferry_profile_clock clock = { .struct_size = sizeof clock };
    ferry_profile_times times = { .struct_size = sizeof times };
    const ferry_profile_table *table = NULL;
    const void *found = NULL;
    void *section = NULL;
    int ended, err = cuda->extension(dev, FERRY_PROFILE_EXTENSION, &found);

    table = found;
    if (!err)
        err = table->clock(dev, &clock);
    if (!err)
        err = table->begin(dev, NULL, &section);
    if (err)
        return err;
    err = cuda->memset(dev, NULL, driver_ref(block, 0), 0, 64);
    ended = table->end(dev, NULL, section);
    err = err ? err : ended;
    if (!err)
        err = cuda->queue_synchronize(dev, NULL);
    if (!err && (err = table->read(dev, section, &times)) > 0)
        err = times.begin <= times.end ? 0 : FERRY_EPLUGIN;
    table->destroy(dev, section);
    return err;
}

/* The number of those calls; nothing is left after the device was closed, whichever failed. */
static unsigned measure_failing(const char *call, unsigned n, int *out_err)
{
    unsigned before;
    void *dev, *block;

    dev = cuda_open(1);
    block = cuda_block(dev, 64);
    before = control->calls(call);
    control->fail(call, n, CUDA_MEMORY_ALLOCATION);
    *out_err = measure(dev, block);
    control->fail("", 0, 0);
    before = control->calls(call) - before;
    cuda->synchronize(dev);
    cuda_free_block(dev, block);
    cuda_close(dev);
    CU_ASSERT(nothing_is_left());
    return before;
}

/* cuCtxSetCurrent fails in destroy, too, which then cannot destroy the events. */
static void every_vendor_call_of_a_section_may_fail(void)
{
    static const char *const which[] = { "*", "cuCtxSetCurrent" };

    if (!cuda_load(2, true))
        return;
    for (unsigned i = 0; i < 2; i++) {
        unsigned failures = 0, calls;
        int err;

        calls = measure_failing(which[i], 0, &err);
        CU_ASSERT_EQUAL(err, 0);
        CU_ASSERT(calls > 8);
        for (unsigned n = 1; n <= calls; n++) {
            measure_failing(which[i], n, &err);
            CU_ASSERT(err <= 0);
            failures += err < 0;
        }
        CU_ASSERT(failures >= calls / 3); /* others restore the caller's context */
    }
}

/* ---- failures that come later ---- */

static void a_kernel_that_faults_loses_the_device(void)
{
    struct session s = { 0 };
    uint32_t flags;
    void *block = NULL;

    if (!cuda_load(2, true))
        return;
    CU_ASSERT_EQUAL_FATAL(begin(&s), 0);
    control->hold(1); /* until the event is recorded: a context that has ended cannot record one */
    control->fail_later("cublasSscal", 1, CUDA_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(cuda->scal(s.dev, NULL, FERRY_F32, 8, 2, driver_ref(s.block, 0)), 0);
    CU_ASSERT_EQUAL(cuda->event_record(s.dev, NULL, &s.event), 0);
    control->hold(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s.event);
    CU_ASSERT(driver_failed(cuda->event_synchronize(s.dev, s.event), FERRY_ELOST,
                            "cudaErrorIllegalAddress"));
    CU_ASSERT(driver_failed(cuda->event_query(s.dev, s.event), FERRY_ELOST, "cudaEventQuery"));
    CU_ASSERT(driver_failed(cuda->alloc(s.dev, NULL, 64, 0, &block, &flags), FERRY_ELOST,
                            "an illegal memory access"));
    CU_ASSERT(driver_failed(
        cuda->axpy(s.dev, NULL, FERRY_F32, 8, 1, driver_cref(s.block, 0), driver_ref(s.block, 32)),
        FERRY_ELOST, "cublas"));
    cuda->event_destroy(s.dev, s.event);
    cuda->queue_destroy(s.dev, s.queue);
    cuda->host_free(s.dev, s.pinned);
    cuda->free(s.dev, NULL, s.block);
    cuda->device_close(s.dev);
    CU_ASSERT_EQUAL(control->contexts(1), 0);
    s = (struct session){ 0 };
    CU_ASSERT_EQUAL_FATAL(begin(&s), 0); /* a new context works */
    CU_ASSERT_EQUAL(compute(&s), 0);
    give_back(&s);
}

static void statuses_of_cublas_are_checked(void)
{
    void *dev, *block;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    control->fail("cublasCreate", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT(driver_failed(cuda->scal(dev, NULL, FERRY_F32, 8, 2, driver_ref(block, 0)),
                            FERRY_ENOMEM, "which it returns if memory is short"));
    CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 8, 2, driver_ref(block, 0)), 0);
    control->fail("cublasSscal", 1, CUDA_UNKNOWN);
    CU_ASSERT(driver_failed(cuda->scal(dev, NULL, FERRY_F32, 8, 2, driver_ref(block, 0)),
                            FERRY_EDEVICE, "CUBLAS_STATUS_EXECUTION_FAILED"));
    CU_ASSERT_EQUAL(rt.last_error(), 0);
    CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 8, 2, driver_ref(block, 0)), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

struct routine {
    const char *call;
    int (*run)(void *dev, void *block);
};

static int run_axpy(void *dev, void *block)
{
    return cuda->axpy(dev, NULL, FERRY_F32, 4, 1, driver_cref(block, 0), driver_ref(block, 32));
}

static int run_scal(void *dev, void *block)
{
    return cuda->scal(dev, NULL, FERRY_F64, 4, 2, driver_ref(block, 0));
}

static int run_dot(void *dev, void *block)
{
    return cuda->dot(dev, NULL, FERRY_F64, 2, driver_cref(block, 0), driver_cref(block, 16),
                     driver_ref(block, 32));
}

static int run_gemv(void *dev, void *block)
{
    return cuda->gemv(dev, NULL, FERRY_F32, FERRY_NO_TRANS, 2, 2, 1, driver_cref(block, 0), 2,
                      driver_cref(block, 16), 1, 0, driver_ref(block, 32), 1);
}

static int run_gemm(void *dev, void *block)
{
    return cuda->gemm(dev, NULL, FERRY_F16, FERRY_NO_TRANS, FERRY_NO_TRANS, 2, 2, 2, 1,
                      driver_cref(block, 0), 2, driver_cref(block, 16), 2, 0, driver_ref(block, 32),
                      2);
}

/* Every status of every routine, on a working device and on a lost one. */
static void a_cublas_error_means_a_lost_device_only_if_the_device_confirms_it(void)
{
    static const struct {
        int status, code;
        bool may_be_the_end;
    } row[] = {
        { 1, FERRY_EDEVICE, true },   { 3, FERRY_ENOMEM, false },
        { 7, FERRY_EINVAL, false },   { 8, FERRY_EUNSUPPORTED, false },
        { 11, FERRY_EDEVICE, true },  { 13, FERRY_EDEVICE, true },
        { 14, FERRY_EDEVICE, true },  { 15, FERRY_EUNSUPPORTED, false },
        { 16, FERRY_EDEVICE, false },
    };
    static const struct routine routines[] = {
        { "cublasSaxpy", run_axpy }, { "cublasDscal", run_scal },  { "cublasDdot", run_dot },
        { "cublasSgemv", run_gemv }, { "cublasGemmEx", run_gemm },
    };

    for (int lost = 0; lost < 2; lost++) {
        void *dev, *block;

        if (!cuda_load(1, true))
            return;
        dev = cuda_open(0);
        block = cuda_block(dev, 64);
        CU_ASSERT_EQUAL(cuda->memset(dev, NULL, driver_ref(block, 0), 0, 64), 0);
        CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 0)), 0);
        if (lost) {
            control->fail_later("cublasSscal", 1, CUDA_ILLEGAL_ADDRESS);
            CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 0)), 0);
            CU_ASSERT_EQUAL(cuda->synchronize(dev), FERRY_ELOST);
        }
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
            for (size_t k = 0; k < sizeof(routines) / sizeof(routines[0]); k++) {
                control->fail(routines[k].call, 1, CUDA_DOUBLE_STATUS + row[i].status);
                CU_ASSERT(driver_failed(routines[k].run(dev, block),
                                        lost && row[i].may_be_the_end ? FERRY_ELOST : row[i].code,
                                        "CUBLAS_STATUS_"));
                CU_ASSERT_EQUAL(rt.last_error(), 0);
            }
        control->fail("", 0, 0);
        if (!lost)
            cuda_free_block(dev, block);
        else
            (void)cuda->free(dev, NULL, block);
        cuda->device_close(dev);
    }
}

static void each_cuda_error_maps_to_a_code_of_ferry(void)
{
    static const struct {
        int number, code;
    } row[] = {
        { 1, FERRY_EINVAL },         { 2, FERRY_ENOMEM },   { 4, FERRY_ELOST },
        { 214, FERRY_ELOST },        { 220, FERRY_ELOST },  { 226, FERRY_ELOST },
        { 700, FERRY_ELOST },        { 702, FERRY_ELOST },  { 709, FERRY_ELOST },
        { 710, FERRY_ELOST },        { 714, FERRY_ELOST },  { 715, FERRY_ELOST },
        { 716, FERRY_ELOST },        { 717, FERRY_ELOST },  { 718, FERRY_ELOST },
        { 719, FERRY_ELOST },        { 721, FERRY_ELOST },  { 810, FERRY_ELOST },
        { 801, FERRY_EUNSUPPORTED }, { 900, FERRY_EINVAL }, { 901, FERRY_EINVAL },
        { 906, FERRY_EINVAL },       { 911, FERRY_ELOST },  { 999, FERRY_EDEVICE },
    };
    void *dev;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        control->fail("cudaStreamSynchronize", 1, row[i].number);
        CU_ASSERT(driver_failed(cuda->synchronize(dev), row[i].code, "cudaStreamSynchronize"));
        CU_ASSERT_EQUAL(strstr(driver_error(), "unusable until the process ends") != NULL,
                        row[i].code == FERRY_ELOST);
        CU_ASSERT_EQUAL(strstr(driver_error(), "nvidia-smi shows") != NULL,
                        row[i].code == FERRY_ENOMEM);
    }
    cuda_close(dev);
}

/* ---- failures of the program's own ---- */

/* An error that it has not fetched yet. */
static void fail_apart(void)
{
    void *block;

    control->fail("cudaMalloc", 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT_EQUAL(rt.malloc(&block, 64), CUDA_MEMORY_ALLOCATION);
}

#define STAYS(what)                                               \
    do {                                                          \
        fail_apart();                                             \
        what;                                                     \
        CU_ASSERT_EQUAL(rt.last_error(), CUDA_MEMORY_ALLOCATION); \
    } while (0)

/* NotReady is not a failure, although some drivers keep it as one. */
static void ask_before_it_is_done(void *dev, void *block, bool kept)
{
    void *event = NULL;

    control->hold(1);
    CU_ASSERT_EQUAL(cuda->memset(dev, NULL, driver_ref(block, 0), 0, 64), 0);
    CU_ASSERT_EQUAL(cuda->event_record(dev, NULL, &event), 0);
    fail_apart();
    CU_ASSERT_EQUAL(cuda->event_query(dev, event), 0);
    CU_ASSERT_EQUAL(rt.last_error(), kept ? 0 : CUDA_MEMORY_ALLOCATION);
    fail_apart();
    control->fail("cublasSscal", 1, CUDA_UNKNOWN);
    CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 8, 2, driver_ref(block, 0)), FERRY_EDEVICE);
    CU_ASSERT_EQUAL(rt.last_error(), kept ? 0 : CUDA_MEMORY_ALLOCATION);
    control->hold(0);
    STAYS(CU_ASSERT_EQUAL(cuda->event_synchronize(dev, event), 0));
    CU_ASSERT_EQUAL(cuda->event_destroy(dev, event), 0);
}

static void the_plugin_does_not_clear_a_cuda_error_of_the_program(void)
{
    for (int kept = 0; kept < 2; kept++) {
        void *dev, *other, *block;

        if (!cuda_load(2, true))
            return;
        setenv("CUDA_DOUBLE_NOT_READY", kept ? "kept" : "", 1);
        setenv("CUDA_DOUBLE_PEERS", "0", 1);
        dev = cuda_open(0), other = cuda_open(1);
        CU_ASSERT_EQUAL(rt.set_device(0), 0);
        block = cuda_block(dev, 64);
        CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
        ask_before_it_is_done(dev, block, kept);
        STAYS(CU_ASSERT_EQUAL(cuda->peer_access(dev, other), 0));
        STAYS(cuda_free_block(dev, block));
        STAYS(cuda_close(other));
        control->fail("cudaStreamSynchronize", 1, CUDA_UNKNOWN);
        CU_ASSERT_EQUAL(cuda->synchronize(dev), FERRY_EDEVICE);
        CU_ASSERT_EQUAL(rt.last_error(), 0); /* an error that ferry has reported is not kept */
        cuda_close(dev);
    }
}

/* ---- the doubles ---- */

static bool misused(int result, const char *part)
{
    bool found =
        result == CUDA_INVALID_VALUE && control->misuses() && strstr(control->misuse(), part);

    if (!found)
        printf("     got %d, \"%s\"\n", result, control->misuse());
    control->tolerate(1);
    return found;
}

static void the_doubles_find_wrong_pointers(void)
{
    char host[64] = { 0 };
    void *block, *other;
    uint32_t count;

    if (!cuda_load(2, true))
        return;
    CU_ASSERT_EQUAL(cuda->device_count(NULL, &count), 0); /* the doubles read their settings */
    control->tolerate(1);
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL_FATAL(rt.malloc(&other, 64), 0);
    rt.set_device(0);
    CU_ASSERT_EQUAL_FATAL(rt.malloc(&block, 64), 0);
    CU_ASSERT(misused(rt.memset_async(host, 0, 8, NULL), "is host memory"));
    CU_ASSERT(misused(rt.memcpy_async(block, block, 8, CUDA_H2D, NULL), "is a device pointer"));
    CU_ASSERT(misused(rt.memcpy_async(host, host, 8, CUDA_D2H, NULL), "is host memory"));
    CU_ASSERT(misused(rt.memset_async(other, 0, 8, NULL), "belongs to device 1"));
    CU_ASSERT(misused(rt.memset_async(block, 0, 65, NULL), "65 bytes at offset 0"));
    CU_ASSERT(misused(rt.free(other), "a block of device 1"));
    CU_ASSERT_EQUAL(rt.free(block), 0);
    CU_ASSERT(misused(rt.free(block), "was freed"));
    CU_ASSERT(misused(rt.memset_async(block, 0, 8, NULL), "was freed"));
    CU_ASSERT(misused(rt.free_host(host), "does not come from cudaHostAlloc"));
    rt.set_device(1);
    CU_ASSERT_EQUAL(rt.free(other), 0);
    control->tolerate(0);
}

static void the_doubles_find_wrong_streams_and_contexts(void)
{
    void *stream, *event, *block;
    uint32_t count;

    if (!cuda_load(2, true))
        return;
    CU_ASSERT_EQUAL(cuda->device_count(NULL, &count), 0); /* the doubles read their settings */
    control->tolerate(1);
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CU_ASSERT(misused(rt.event_create(&event, 4), "flags 0x4"));
    CU_ASSERT(misused(rt.stream_create(&block, 0), "synchronizes with the default one"));
    CU_ASSERT(misused(rt.event_destroy(NULL), "no event"));
    CU_ASSERT_EQUAL_FATAL(rt.event_create(&event, CUDA_DISABLE_TIMING), 0);
    rt.set_device(0);
    CU_ASSERT_EQUAL_FATAL(rt.malloc(&block, 64), 0);
    CU_ASSERT_NOT_EQUAL(rt.memset_async(block, 0, 8, stream), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(control->misuse(), "the stream belongs to device 1"));
    CU_ASSERT(misused(rt.event_record(event, NULL), "an event of device 1"));
    CU_ASSERT(misused(rt.event_record(NULL, NULL), "no event"));
    CU_ASSERT_NOT_EQUAL(rt.stream_sync(block), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(control->misuse(), "is not a stream"));
    CU_ASSERT_EQUAL(rt.free(block), 0);
    rt.set_device(1);
    CU_ASSERT_EQUAL(rt.event_destroy(event), 0);
    CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
    control->tolerate(0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_vendor_call_may_fail),
    FERRY_TEST(every_vendor_call_of_a_section_may_fail),
    FERRY_TEST(a_kernel_that_faults_loses_the_device),
    FERRY_TEST(statuses_of_cublas_are_checked),
    FERRY_TEST(a_cublas_error_means_a_lost_device_only_if_the_device_confirms_it),
    FERRY_TEST(each_cuda_error_maps_to_a_code_of_ferry),
    FERRY_TEST(the_plugin_does_not_clear_a_cuda_error_of_the_program),
    FERRY_TEST(the_doubles_find_wrong_pointers),
    FERRY_TEST(the_doubles_find_wrong_streams_and_contexts),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "cuda faults (double)", cases, FERRY_TEST_COUNT(cases));
}
