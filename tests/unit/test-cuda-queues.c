/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <stdlib.h>

/*
 * The CUDA plugin's queues, and the objects that it shares with a program: streams, handles,
 * contexts.
 */

/* ---- queues and the program's own objects ---- */

static void a_stream_of_the_program_is_wrapped_and_not_destroyed(void)
{
    void *dev, *stream, *queue, *found = NULL, *block;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CU_ASSERT_EQUAL_FATAL(cuda->queue_wrap(dev, stream, &queue), 0);
    CU_ASSERT_EQUAL(cuda->queue_native(dev, queue, "cuda_stream", &found, sizeof(found)), 0);
    CU_ASSERT_PTR_EQUAL(found, stream);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    CU_ASSERT_EQUAL(cuda->scal(dev, queue, FERRY_F32, 16, 0, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, queue), 0);
    CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue), 0);
    CU_ASSERT_EQUAL(rt.stream_sync(stream), 0);
    CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

static void a_stream_of_another_device_is_refused(void)
{
    void *dev, *stream, *queue;

    if (!cuda_load(2, false))
        return;
    dev = cuda_open(1);
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CU_ASSERT(driver_failed(cuda->queue_wrap(dev, stream, &queue), FERRY_EINVAL, "another device"));
    CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
    cuda_close(dev);
}

/* cudaStreamPerThread is a constant whose meaning depends on the calling thread. */
static void the_per_thread_stream_is_refused(void)
{
    static const char *const names[] = { "cuda_stream" };
    void *per_thread = (void *)(uintptr_t)2, *dev, *queue = NULL, *adopted = NULL;
    uint32_t index;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    CU_ASSERT(driver_failed(cuda->queue_wrap(dev, per_thread, &queue), FERRY_EINVAL,
                            "a different stream in each thread"));
    CU_ASSERT(driver_failed(cuda->adopt(NULL, names, &per_thread, 1, &adopted, &index),
                            FERRY_EINVAL, "a different stream in each thread"));
    CU_ASSERT_PTR_NULL(queue);
    CU_ASSERT_PTR_NULL(adopted);
    cuda_close(dev);
}

/* Zeros a byte on each queue, except the captured one; then waits for all. */
static void wait_in_trouble(void *dev, void *const queue[3], int captured, const char *failing)
{
    void *block = cuda_block(dev, 64), *stream = NULL, *graph = NULL;
    char *to = cuda_pinned(dev, 3);

    CU_ASSERT_EQUAL(cuda->memset(dev, NULL, driver_ref(block, 0), 0, 64), 0);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, NULL), 0);
    control->hold(1);
    for (int i = 0; i < 3; i++) {
        to[i] = i != captured;
        if (i != captured)
            CU_ASSERT_EQUAL(cuda->memcpy(dev, queue[i], FERRY_MEMCPY_D2H,
                                         driver_ref(to, (uint64_t)i), driver_cref(block, 0), 1),
                            0);
    }
    if (captured >= 0) {
        CU_ASSERT_EQUAL(
            cuda->queue_native(dev, queue[captured], "cuda_stream", &stream, sizeof(stream)), 0);
        CU_ASSERT_EQUAL(rt.begin_capture(stream, 2), 0);
    } else
        control->fail(failing, 1, CUDA_MEMORY_ALLOCATION);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), stream ? FERRY_EINVAL : 0);
    CU_ASSERT(!to[0] && !to[1] && !to[2]);
    CU_ASSERT_EQUAL(rt.last_error(), 0);
    if (stream)
        CU_ASSERT_EQUAL(rt.end_capture(stream, &graph), 0);
    control->fail("", 0, 0);
    control->hold(0);
    CU_ASSERT_EQUAL(cuda->host_free(dev, to), 0);
    cuda_free_block(dev, block);
}

/* A caller that gets a failure may free memory that the work of other queues uses. */
static void synchronize_waits_for_all_queues_but_the_failed_one(void)
{
    static const struct {
        int captured;
        const char *failing;
    } row[] = {
        { -1, "cudaEventCreateWithFlags" }, { -1, "cudaEventRecord" }, { 0, NULL }, { 1, NULL }
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        void *dev, *queue[3] = { NULL, NULL, NULL };

        if (!cuda_load(1, true))
            return;
        setenv("CUDA_DOUBLE_NOT_READY", "kept", 1);
        dev = cuda_open(0);
        CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
        CU_ASSERT_EQUAL_FATAL(cuda->queue_create(dev, 0, &queue[1]), 0);
        CU_ASSERT_EQUAL_FATAL(cuda->queue_create(dev, 0, &queue[2]), 0);
        wait_in_trouble(dev, queue, row[i].captured, row[i].failing);
        CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue[1]), 0);
        CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue[2]), 0);
        cuda_close(dev);
    }
}

/* CAPTURE_MODE_RELAXED is 2: it allows other streams' calls meanwhile. */
static void a_captured_stream_refuses_work(void)
{
    static const char *const names[] = { "cuda_stream" };
    void *dev, *stream, *queue, *block, *event = NULL, *graph, *adopted = NULL, *second = NULL;
    float host[16] = { 0 };
    uint32_t index;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CU_ASSERT_EQUAL_FATAL(cuda->queue_wrap(dev, stream, &queue), 0);
    CU_ASSERT_EQUAL_FATAL(rt.begin_capture(stream, 2), 0);
#define REFUSED(call) CU_ASSERT(driver_failed(call, FERRY_EINVAL, "is capturing this stream"))
    REFUSED(cuda->queue_wrap(dev, stream, &second));
    REFUSED(cuda->adopt(NULL, names, &stream, 1, &adopted, &index));
    REFUSED(
        cuda->memcpy(dev, queue, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(host, 0), 64));
    REFUSED(cuda->memset(dev, queue, driver_ref(block, 0), 0, 64));
    REFUSED(cuda->fill(dev, queue, FERRY_F32, 16, 1, driver_ref(block, 0)));
    REFUSED(cuda->scal(dev, queue, FERRY_F32, 16, 2, driver_ref(block, 0)));
    REFUSED(cuda->sumsq(dev, queue, FERRY_F32, 8, driver_cref(block, 0), driver_ref(block, 32)));
    REFUSED(cuda->event_record(dev, queue, &event));
    REFUSED(cuda->queue_synchronize(dev, queue));
#undef REFUSED
    CU_ASSERT_EQUAL(rt.end_capture(stream, &graph), 0);
    CU_ASSERT_EQUAL(cuda->scal(dev, queue, FERRY_F32, 16, 0, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, queue), 0);
    CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue), 0);
    CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* Copies from one device to the other, and checks the bytes. */
static void copy_between(void *to_dev, void *from_dev)
{
    void *from = cuda_block(from_dev, 16), *to = cuda_block(to_dev, 16);
    char back[16] = { 0 };

    cuda_put(from_dev, from, "on one and two", 15);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(from_dev, NULL), 0);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(to_dev, NULL), 0);
    CU_ASSERT_EQUAL(cuda->peer_access(to_dev, from_dev), 1);
    CU_ASSERT_EQUAL(
        cuda->peer_copy(to_dev, NULL, driver_ref(to, 0), from_dev, driver_cref(from, 0), 15), 0);
    cuda_get(to_dev, to, back, 15);
    CU_ASSERT_STRING_EQUAL(back, "on one and two");
    cuda_free_block(from_dev, from);
    cuda_free_block(to_dev, to);
}

/*
 * One device of ferry, and one on the program's stream: copies between them stay on the GPU, and
 * either device can be closed first.
 */
static void two_devices_on_one_gpu_have_peer_access(void)
{
    static const char *const names[] = { "cuda_stream" };
    void *program, *stream, *one, *two, *left;
    uint32_t index;

    for (int order = 0; order < 2; order++) {
        if (!cuda_load(1, false))
            return;
        program = cuda_open(0); /* its context lives as long as its stream */
        one = cuda_open(0);
        CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
        CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
        CU_ASSERT_EQUAL_FATAL(cuda->adopt(NULL, names, &stream, 1, &two, &index), 0);
        copy_between(two, one);
        copy_between(one, two);
        left = order ? two : one;
        cuda_close(order ? one : two);
        cuda_free_block(left, cuda_block(left, 64)); /* its context and pool still exist */
        CU_ASSERT_EQUAL(cuda->synchronize(left), 0);
        cuda_close(left);
        CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
        cuda_close(program);
    }
}

static void the_programs_stream_can_be_the_default_queue(void)
{
    static const char *const names[] = { "cuda_stream" }, *const wrong[] = { "cl_context" };
    void *stream, *dev, *found = NULL, *block;
    uint32_t index = 9;

    if (!cuda_load(2, false))
        return;
    CU_ASSERT_EQUAL_FATAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    CU_ASSERT(driver_failed(cuda->adopt(NULL, wrong, &stream, 1, &dev, &index), FERRY_EINVAL,
                            "cuda_stream"));
    CU_ASSERT_EQUAL_FATAL(cuda->adopt(NULL, names, &stream, 1, &dev, &index), 0);
    CU_ASSERT_EQUAL(index, 1);
    CU_ASSERT_EQUAL(cuda->native(dev, "cuda_stream", &found, sizeof(found)), 0);
    CU_ASSERT_PTR_EQUAL(found, stream);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 16, 0, driver_ref(block, 0)), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
    CU_ASSERT_EQUAL(rt.set_device(1), 0);
    CU_ASSERT_EQUAL(rt.stream_sync(stream), 0);
    CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
    CU_ASSERT_EQUAL(rt.set_device(0), 0);
}

/* Slow work, then a read of its result elsewhere. */
static void a_queue_waits_for_the_event_of_another(void)
{
    char back[16] = { 0 };
    void *dev, *queue, *event, *block;

    if (!cuda_load(1, false))
        return;
    setenv("CUDA_DOUBLE_LATE", "2000", 1);
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->queue_create(dev, 0, &queue), 0);
    block = cuda_block(dev, 16);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, NULL), 0); /* on which the block is allocated */
    for (uint32_t byte = '0'; byte <= '9'; byte++)
        CU_ASSERT_EQUAL(cuda->memset(dev, queue, driver_ref(block, 0), byte, 16), 0);
    CU_ASSERT_EQUAL_FATAL(cuda->event_record(dev, queue, &event), 0);
    CU_ASSERT_EQUAL(cuda->queue_wait(dev, NULL, event), 0);
    cuda_get(dev, block, back, 16);
    CU_ASSERT_NSTRING_EQUAL(back, "9999999999999999", 16);
    CU_ASSERT_EQUAL(cuda->event_destroy(dev, event), 0);
    CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
    unsetenv("CUDA_DOUBLE_LATE");
}

static void native_objects_are_requested_by_name_and_size(void)
{
    void *dev, *object = NULL;
    int ordinal = -1;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->native(dev, "cuda_device", &ordinal, sizeof(ordinal)), 0);
    CU_ASSERT_EQUAL(ordinal, 0);
    CU_ASSERT_EQUAL(cuda->native(dev, "cuda_context", &object, sizeof(object)), 0);
    CU_ASSERT_PTR_NOT_NULL(object);
    CU_ASSERT_EQUAL(cuda->native(dev, "cublas_handle", &object, sizeof(object)), 0);
    CU_ASSERT_PTR_NOT_NULL(object);
    CU_ASSERT(driver_failed(cuda->native(dev, "cuda_device", &object, 8), FERRY_EINVAL, "an int"));
    CU_ASSERT(
        driver_failed(cuda->native(dev, "cuda_stream", &object, 4), FERRY_EINVAL, "a pointer"));
    CU_ASSERT(driver_failed(cuda->native(dev, "cl_context", &object, 8), FERRY_EUNSUPPORTED,
                            "unknown object \"cl_context\""));
    cuda_close(dev);
}

static void each_queue_gets_a_cublas_handle_with_its_first_product(void)
{
    void *dev, *queue, *block;

    if (!cuda_load(1, true))
        return;
    dev = cuda_open(0);
    CU_ASSERT_EQUAL(cuda->queue_create(dev, 0, &queue), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 0);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    CU_ASSERT_EQUAL(cuda->scal(dev, NULL, FERRY_F32, 1, 1, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 1);
    CU_ASSERT_EQUAL(cuda->scal(dev, queue, FERRY_F32, 1, 1, driver_ref(block, 32)), 0);
    CU_ASSERT_EQUAL(cuda->scal(dev, queue, FERRY_F32, 1, 1, driver_ref(block, 32)), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 2);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, queue), 0);
    CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue), 0);
    CU_ASSERT_EQUAL(control->live_handles(), 1);
    cuda_free_block(dev, block);
    cuda_close(dev);
    CU_ASSERT_EQUAL(control->live_handles(), 0);
    CU_ASSERT_EQUAL(control->live_events(), 0);
    CU_ASSERT_EQUAL(control->live_streams(), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_stream_of_the_program_is_wrapped_and_not_destroyed),
    FERRY_TEST(the_per_thread_stream_is_refused),
    FERRY_TEST(a_captured_stream_refuses_work),
    FERRY_TEST(synchronize_waits_for_all_queues_but_the_failed_one),
    FERRY_TEST(a_stream_of_another_device_is_refused),
    FERRY_TEST(the_programs_stream_can_be_the_default_queue),
    FERRY_TEST(a_queue_waits_for_the_event_of_another),
    FERRY_TEST(native_objects_are_requested_by_name_and_size),
    FERRY_TEST(each_queue_gets_a_cublas_handle_with_its_first_product),
    FERRY_TEST(two_devices_on_one_gpu_have_peer_access),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda plugin, queues"), cases,
                           FERRY_TEST_COUNT(cases));
}
