/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * A program captures a stream into a graph while ferry is working: no work of ferry becomes part of
 * the graph, and no call of ferry invalidates the capture.
 */

enum { GLOBAL, THREAD_LOCAL, RELAXED };

/* ---- ferry's own stream --------------------------------------------------------------------- */

/* A program that got the handle of ferry's own stream can capture it. */
static void a_stream_of_ferry_that_the_program_captures_refuses_work(void)
{
    void *dev, *queue, *block, *graph = NULL;

    if (!cuda_load(1, false))
        return;
    dev = cuda_open(0);
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL(cuda->queue_create(dev, 0, &queue), 0);
    block = cuda_block(dev, 64);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    for (int own = 0; own < 2; own++) {
        void *on = own ? queue : NULL, *stream = NULL, *event = NULL;

        CU_ASSERT_EQUAL(cuda->queue_native(dev, on, "cuda_stream", &stream, sizeof(stream)), 0);
        CU_ASSERT_EQUAL_FATAL(rt.begin_capture(stream, RELAXED), 0);
#define REFUSED(call) CU_ASSERT(driver_failed(call, FERRY_EINVAL, "is capturing this stream"))
        REFUSED(cuda->fill(dev, on, FERRY_F32, 16, 1, driver_ref(block, 0)));
        REFUSED(cuda->scal(dev, on, FERRY_F32, 16, 2, driver_ref(block, 0)));
        REFUSED(cuda->memset(dev, on, driver_ref(block, 0), 0, 64));
        REFUSED(cuda->event_record(dev, on, &event));
        REFUSED(cuda->queue_synchronize(dev, on));
        REFUSED(cuda->synchronize(dev));
#undef REFUSED
        CU_ASSERT_EQUAL(cuda->trim(dev), 0);
        CU_ASSERT_EQUAL(rt.end_capture(stream, &graph), 0);
        CU_ASSERT_EQUAL(cuda->fill(dev, on, FERRY_F32, 16, 1, driver_ref(block, 0)), 0);
        CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, on), 0);
    }
    CU_ASSERT_EQUAL(cuda->queue_destroy(dev, queue), 0);
    cuda_free_block(dev, block);
    cuda_close(dev);
}

/* ---- freeing -------------------------------------------------------------------------------- */

/*
 * A block is freed all the same: when the stream accepts work again, at the latest when the device
 * is closed.
 */
static void blocks_freed_during_a_capture_are_freed_after_it(void)
{
    enum { CLOSE, TRIM, ALLOC, AT_ONCE };
    static const char *const names[] = { "cuda_stream" };
    void *stream, *dev, *blocks[3], *graph = NULL;
    uint32_t index;

    if (!cuda_load(1, true))
        return;
    for (int way = CLOSE; way <= AT_ONCE; way++) {
        driver_set("ordered_alloc", way == AT_ONCE ? "off" : NULL);
        CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
        CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
        CU_ASSERT_EQUAL_FATAL(cuda->adopt(NULL, names, &stream, 1, &dev, &index), 0);
        for (int i = 0; i < 3; i++)
            blocks[i] = cuda_block(dev, 64);
        CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
        CU_ASSERT_EQUAL_FATAL(rt.begin_capture(stream, GLOBAL), 0);
        CU_ASSERT_EQUAL(cuda->free(dev, NULL, blocks[0]), 0);
        CU_ASSERT_EQUAL(cuda->free(dev, NULL, blocks[1]), 0);
        CU_ASSERT_EQUAL(cuda->free(dev, NULL, blocks[1]), FERRY_EINVAL); /* it is freed */
        if (way == CLOSE)
            CU_ASSERT_EQUAL(cuda->free(dev, NULL, blocks[2]), 0);
        CU_ASSERT_EQUAL(cuda->trim(dev), 0);
        CU_ASSERT_EQUAL(rt.end_capture(stream, &graph), 0);
        if (way == TRIM)
            CU_ASSERT_EQUAL(cuda->trim(dev), 0);
        if (way == ALLOC)
            blocks[0] = cuda_block(dev, 64);
        CU_ASSERT_EQUAL(rt.stream_sync(stream), 0);
        CU_ASSERT_EQUAL(control->live_blocks(0), way == CLOSE ? 3 : way == ALLOC ? 2 : 1);
        if (way == ALLOC)
            cuda_free_block(dev, blocks[0]);
        if (way != CLOSE)
            cuda_free_block(dev, blocks[2]);
        cuda_close(dev);
        CU_ASSERT_EQUAL(control->live_blocks(0), 0);
        CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
    }
}

/* ---- other threads -------------------------------------------------------------------------- */

struct captor {
    void *stream;
    int mode, begun, ended;
    pthread_barrier_t meet;
};

static void *capture(void *argument)
{
    struct captor *c = argument;
    void *graph = NULL;

    c->begun = rt.set_device(0);
    if (!c->begun)
        c->begun = rt.begin_capture(c->stream, c->mode);
    pthread_barrier_wait(&c->meet);
    pthread_barrier_wait(&c->meet);
    c->ended = rt.end_capture(c->stream, &graph);
    return NULL;
}

struct worker {
    void *dev, *queue;
};

/*
 * All of ferry's calls, on streams that are not captured, except the destruction of queues that
 * have computed: cublasDestroy waits for the device.
 */
static void work(struct worker *w)
{
    uint32_t flags;
    float host[16];
    void *dev = cuda_open(0), *queue, *block, *pinned, *event, *handle = NULL;

    block = cuda_block(dev, 128);
    pinned = cuda_pinned(dev, 64);
    CU_ASSERT_EQUAL(cuda->queue_create(dev, 0, &queue), 0);
    memset(pinned, 0, 64);
    cuda_put(dev, block, pinned, 64);
    CU_ASSERT_EQUAL(cuda->fill(dev, NULL, FERRY_F32, 16, 2, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(cuda->event_record(dev, NULL, &event), 0);
    CU_ASSERT_EQUAL(cuda->queue_wait(dev, queue, event), 0);
    CU_ASSERT(cuda->event_query(dev, event) >= 0);
    CU_ASSERT_EQUAL(cuda->scal(dev, queue, FERRY_F32, 16, 2, driver_ref(block, 0)), 0);
    CU_ASSERT_EQUAL(
        cuda->asum(dev, queue, FERRY_F32, 16, driver_cref(block, 0), driver_ref(block, 64)), 0);
    CU_ASSERT_EQUAL(cuda->queue_synchronize(dev, queue), 0);
    CU_ASSERT_EQUAL(cuda->event_synchronize(dev, event), 0);
    CU_ASSERT_EQUAL(cuda->event_destroy(dev, event), 0);
    cuda_get(dev, (char *)block + 64, host, 4);
    CU_ASSERT_EQUAL(host[0], 64);
    CU_ASSERT_EQUAL(cuda->native(dev, "cublas_handle", &handle, sizeof(handle)), 0);
    CU_ASSERT_EQUAL(cuda->synchronize(dev), 0);
    CU_ASSERT_EQUAL(cuda->host_free(dev, pinned), 0);
    cuda_free_block(dev, block);
    CU_ASSERT_EQUAL(cuda->trim(dev), 0);
    if (!cuda->import_host(dev, host, sizeof(host), 0, &handle))
        CU_ASSERT_EQUAL(cuda->unimport_host(dev, handle), 0);
    CU_ASSERT_EQUAL(cuda->host_alloc(dev, 64, 0, &pinned, &flags), 0);
    CU_ASSERT_EQUAL(cuda->host_free(dev, pinned), 0);
    *w = (struct worker){ dev, queue };
}

static void rest(const struct worker *w)
{
    CU_ASSERT_EQUAL(cuda->queue_destroy(w->dev, w->queue), 0);
    cuda_close(w->dev);
}

static void a_capture_on_another_stream_is_independent_of_ferry(void)
{
    for (int mode = GLOBAL; mode <= RELAXED; mode++)
        for (int pools = 0; pools < 2; pools++) {
            struct captor c = { .mode = mode };
            struct worker w;
            pthread_t thread;

            if (!cuda_load(1, false))
                return;
            setenv("CUDA_DOUBLE_POOLS", pools ? "1" : "0", 1);
            CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
            CU_ASSERT_EQUAL_FATAL(rt.stream_create(&c.stream, CUDA_STREAM_NON_BLOCKING), 0);
            pthread_barrier_init(&c.meet, NULL, 2);
            CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, capture, &c), 0);
            pthread_barrier_wait(&c.meet);
            work(&w);
            pthread_barrier_wait(&c.meet);
            pthread_join(thread, NULL);
            rest(&w);
            pthread_barrier_destroy(&c.meet);
            CU_ASSERT_EQUAL(c.begun, 0);
            CU_ASSERT_EQUAL(c.ended, 0); /* the capture produced a graph */
            CU_ASSERT_EQUAL(rt.stream_destroy(c.stream), 0);
        }
}

/* A thread that captures a stream can call ferry, and keeps its capture mode. */
static void a_thread_that_captures_can_call_ferry(void)
{
    void *stream, *graph = NULL;
    struct worker w;
    int mode = THREAD_LOCAL;

    if (!cuda_load(1, false))
        return;
    CU_ASSERT_EQUAL_FATAL(rt.set_device(0), 0);
    CU_ASSERT_EQUAL_FATAL(rt.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    CU_ASSERT_EQUAL_FATAL(rt.begin_capture(stream, GLOBAL), 0);
    work(&w);
    CU_ASSERT_EQUAL(rt.end_capture(stream, &graph), 0);
    rest(&w);
    CU_ASSERT_EQUAL(rt.exchange_mode(&mode), 0);
    work(&w);
    rest(&w);
    CU_ASSERT_EQUAL(rt.exchange_mode(&mode), 0);
    CU_ASSERT_EQUAL(mode, THREAD_LOCAL); /* as the thread had set it */
    CU_ASSERT_EQUAL(rt.stream_destroy(stream), 0);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_stream_of_ferry_that_the_program_captures_refuses_work),
    FERRY_TEST(blocks_freed_during_a_capture_are_freed_after_it),
    FERRY_TEST(a_capture_on_another_stream_is_independent_of_ferry),
    FERRY_TEST(a_thread_that_captures_can_call_ferry),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, cuda_suite("cuda, graphs"), cases, FERRY_TEST_COUNT(cases));
}
