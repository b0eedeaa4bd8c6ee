/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/*
 * Queues, events and the program's own objects. A gate, a user event that commands wait for, keeps
 * work from completing until the test opens it.
 */

static cl_event close_gate(cl_command_queue q)
{
    cl_int error;
    cl_event gate = clCreateUserEvent(ocl_context(), &error);

    CU_ASSERT_EQUAL_FATAL(error, 0);
    CU_ASSERT_EQUAL_FATAL(clEnqueueBarrierWithWaitList(q, 1, &gate, NULL), 0);
    return gate;
}

static void open_gate(cl_event gate)
{
    CU_ASSERT_EQUAL(clSetUserEventStatus(gate, CL_COMPLETE), 0);
    clReleaseEvent(gate);
}

static void *record(void *queue)
{
    void *event = NULL;

    CU_ASSERT_EQUAL_FATAL(ocl->event_record(dev, queue, &event), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(event);
    return event;
}

static void an_event_is_done_when_the_work_before_it_is_done(void)
{
    unsigned char byte = 7, back = 0;
    void *block, *event, *late;
    cl_event gate;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(1);
    gate = close_gate(ocl_queue());
    CU_ASSERT_EQUAL(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_H2D, driver_ref(block, 0), driver_cref(&byte, 0), 1),
        0);
    event = record(NULL);
    CU_ASSERT_EQUAL(ocl->event_query(dev, event), 0);
    late = record(NULL);
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, late), 0); /* complete or not */
    CU_ASSERT_EQUAL(ocl_count().live_events, 1);
    open_gate(gate);
    CU_ASSERT_EQUAL(ocl->event_synchronize(dev, event), 0);
    CU_ASSERT_EQUAL(ocl->event_query(dev, event), 1);
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, event), 0);
    ocl_get(block, 0, &back, 1);
    CU_ASSERT_EQUAL(back, 7);
    ocl_free_block(block);
    ocl_close();
}

static void a_queue_waits_for_the_event_of_another(void)
{
    unsigned char back = 0;
    void *block, *queue = NULL, *event, *after;
    cl_event gate;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(1);
    CU_ASSERT_EQUAL_FATAL(ocl->queue_create(dev, 0, &queue), 0);
    gate = close_gate(ocl_queue());
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 5, 1), 0);
    event = record(NULL);
    CU_ASSERT_EQUAL(ocl->queue_wait(dev, queue, event), 0); /* blocks the queue, not the host */
    CU_ASSERT_EQUAL(
        ocl->memcpy(dev, queue, FERRY_MEMCPY_D2H, driver_ref(&back, 0), driver_cref(block, 0), 1),
        0);
    after = record(queue);
    CU_ASSERT_EQUAL(ocl->event_query(dev, after), 0);
    open_gate(gate);
    CU_ASSERT_EQUAL(ocl->queue_synchronize(dev, queue), 0);
    CU_ASSERT_EQUAL(back, 5);
    CU_ASSERT_EQUAL(ocl->event_query(dev, after), 1);
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, event), 0);
    CU_ASSERT_EQUAL(ocl->queue_destroy(dev, queue), 0);
    CU_ASSERT_EQUAL(ocl->event_query(dev, after), 1); /* an event outlives its queue */
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, after), 0);
    CU_ASSERT(driver_failed(ocl->queue_destroy(dev, &back), FERRY_EINVAL, "was not created"));
    ocl_free_block(block);
    ocl_close();
}

/* ---- failures ------------------------------------------------------------------------------- */

/*
 * A driver whose commands fail when they run: the plugin calls the functions below instead of the
 * ICD loader. The next fill is the command that fails.
 */
static struct {
    bool next;
    cl_event event;
} failing;

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem mem, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint events, const cl_event *wait_list,
                           cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint,
                   const cl_event *, cl_event *);
    cl_int error;

    *(void **)&next = dlsym(RTLD_NEXT, "clEnqueueFillBuffer");
    error = next(q, mem, pattern, pattern_size, offset, size, events, wait_list, event);
    if (failing.next && !error) {
        failing.event = *event;
        clRetainEvent(*event); /* its address is not reused */
    }
    failing.next = false;
    return error;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                      size_t *value_size)
{
    cl_int (*next)(cl_event, cl_event_info, size_t, void *, size_t *);
    cl_int error;

    *(void **)&next = dlsym(RTLD_NEXT, "clGetEventInfo");
    error = next(event, what, size, value, value_size);
    if (!error && event == failing.event && what == CL_EVENT_COMMAND_EXECUTION_STATUS &&
        *(cl_int *)value == CL_COMPLETE)
        *(cl_int *)value = CL_OUT_OF_RESOURCES;
    return error;
}

static void work_again(void)
{
    clReleaseEvent(failing.event);
    failing.event = NULL;
}

/* A memset that fails, with work before and after it that succeeds. */
static void enqueue_a_failure(void *block)
{
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 5, 1), 0);
    failing.next = true;
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 6, 1), 0);
    CU_ASSERT_FALSE(failing.next);
    CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 7, 1), 0);
}

static void a_failure_is_reported_with_its_name_by_the_next_event(void)
{
    void *block, *before, *event, *after;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(1);
    before = record(NULL);
    enqueue_a_failure(block);
    event = record(NULL);
    after = record(NULL);
    CU_ASSERT(driver_failed(ocl->event_synchronize(dev, event), FERRY_EDEVICE,
                            "clEnqueueFillBuffer: CL_OUT_OF_RESOURCES"));
    CU_ASSERT(driver_failed(ocl->event_query(dev, event), FERRY_EDEVICE, "CL_OUT_OF_RESOURCES"));
    CU_ASSERT_EQUAL(ocl->event_synchronize(dev, before), 0);
    CU_ASSERT_EQUAL(ocl->event_synchronize(dev, after), 0); /* the work between them did not fail */
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, before), 0);
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, event), 0);
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, after), 0);
    (void)ocl->synchronize(dev);
    ocl_free_block(block);
    ocl_close();
    work_again();
}

static void a_failure_is_also_reported_by_the_next_wait_once(void)
{
    void *block, *event;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(1);
    enqueue_a_failure(block);
    CU_ASSERT(
        driver_failed(ocl->queue_synchronize(dev, NULL), FERRY_EDEVICE, "CL_OUT_OF_RESOURCES"));
    CU_ASSERT_EQUAL(ocl->queue_synchronize(dev, NULL), 0);
    work_again();
    enqueue_a_failure(block);
    event = record(NULL);
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, event), 0); /* no query of its state was made */
    CU_ASSERT(driver_failed(ocl->synchronize(dev), FERRY_EDEVICE, "CL_OUT_OF_RESOURCES"));
    CU_ASSERT_EQUAL(ocl->synchronize(dev), 0);
    ocl_free_block(block);
    ocl_close();
    work_again();
}

/* The number of commands after which finished ones are collected before any event is queried. */
static void a_failure_is_reported_after_many_later_commands(void)
{
    void *block, *event;

    if (!ocl_open(0, NULL))
        return;
    block = ocl_block(1);
    enqueue_a_failure(block);
    CU_ASSERT_EQUAL(clFinish(ocl_queue()), 0);
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(ocl->memset(dev, NULL, driver_ref(block, 0), 5, 1), 0);
    event = record(NULL);
    CU_ASSERT(
        driver_failed(ocl->event_synchronize(dev, event), FERRY_EDEVICE, "CL_OUT_OF_RESOURCES"));
    CU_ASSERT_EQUAL(ocl->event_destroy(dev, event), 0);
    (void)ocl->synchronize(dev);
    ocl_free_block(block);
    ocl_close();
    work_again();
}

/* ---- the program's own objects -------------------------------------------------------------- */

static cl_uint references(cl_command_queue q)
{
    cl_uint count = 0;

    CU_ASSERT_EQUAL(clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL),
                    0);
    return count;
}

/* PoCL's threads release their references some time after a command. */
static cl_uint references_at_rest(cl_command_queue q)
{
    cl_uint last;

    do {
        last = references(q);
        usleep(50000);
    } while (references(q) != last);
    return last;
}

/* PoCL keeps one event for the latest command of a queue. */
static cl_uint references_once_used(cl_command_queue q, cl_mem mem)
{
    unsigned char byte;

    CU_ASSERT_EQUAL(clEnqueueReadBuffer(q, mem, CL_TRUE, 0, 1, &byte, 0, NULL, NULL), 0);
    return references_at_rest(q);
}

static void a_wrapped_queue_is_used_and_not_changed(void)
{
    unsigned char back = 0;
    cl_uint before;
    cl_command_queue own, found = NULL;
    cl_int error;
    void *queue = NULL, *block;

    if (!ocl_open(0, NULL))
        return;
    own = clCreateCommandQueue(ocl_context(), ocl_id(), 0, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    block = ocl_block(1);
    before = references_once_used(own, block);
    CU_ASSERT_EQUAL_FATAL(ocl->queue_wrap(dev, own, &queue), 0);
    CU_ASSERT_EQUAL(ocl->queue_native(dev, queue, "cl_command_queue", &found, sizeof(found)), 0);
    CU_ASSERT_PTR_EQUAL(found, own);
    CU_ASSERT_EQUAL(ocl->memset(dev, queue, driver_ref(block, 0), 6, 1), 0);
    CU_ASSERT_EQUAL(clEnqueueReadBuffer(own, block, CL_TRUE, 0, 1, &back, 0, NULL, NULL),
                    0); /* in order */
    CU_ASSERT_EQUAL(back, 6);
    CU_ASSERT_EQUAL(ocl->queue_destroy(dev, queue), 0);
    CU_ASSERT_EQUAL(references_at_rest(own), before);
    clReleaseCommandQueue(own);
    ocl_free_block(block);
    ocl_close();
}

static void an_out_of_order_queue_is_refused(void)
{
    cl_int error;
    cl_command_queue own;
    void *queue = NULL;

    if (!ocl_open(0, NULL))
        return;
    own = clCreateCommandQueue(ocl_context(), ocl_id(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                               &error);
    if (error) {
        ferry_test_skip("the device has no queues that execute out of order");
    } else {
        CU_ASSERT(driver_failed(ocl->queue_wrap(dev, own, &queue), FERRY_EINVAL, "out of order"));
        clReleaseCommandQueue(own);
    }
    ocl_close();
}

static void a_device_uses_and_releases_the_context_and_queue_of_the_program(void)
{
    cl_device_id id;
    cl_int error;
    cl_context context;
    cl_command_queue q;
    cl_uint before;
    cl_mem own;
    uint32_t index = 99;

    if (!ocl_open(0, NULL))
        return;
    id = ocl_id();
    ocl_close();
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    q = clCreateCommandQueue(context, id, 0, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    own = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &error);
    before = references_once_used(q, own);
    {
        const char *const names[] = { "cl_context", "cl_device_id", "cl_command_queue" };
        void *const values[] = { context, id, q };
        float two[2] = { 1, 2 }, sum = 0;
        void *block;

        CU_ASSERT_EQUAL_FATAL(ocl->adopt(ocl->plugin, names, values, 3, &dev, &index), 0);
        CU_ASSERT_EQUAL(index, 0);
        CU_ASSERT_PTR_EQUAL(ocl_context(), context);
        CU_ASSERT_PTR_EQUAL(ocl_queue(), q);
        block = ocl_block(64);
        ocl_put(block, 0, two, sizeof(two));
        CU_ASSERT_EQUAL(
            ocl->axpy(dev, NULL, FERRY_F32, 2, 1, driver_cref(block, 0), driver_ref(block, 0)), 0);
        CU_ASSERT_EQUAL(
            ocl->asum(dev, NULL, FERRY_F32, 2, driver_cref(block, 0), driver_ref(block, 32)), 0);
        ocl_get(block, 32, &sum, sizeof(sum));
        CU_ASSERT_EQUAL(sum, 6);
        ocl_free_block(block);
        ocl_close();
    }
    CU_ASSERT_EQUAL(references_once_used(q, own), before);
    clReleaseMemObject(own);
    clReleaseCommandQueue(q);
    clReleaseContext(context);
}

static void an_object_that_cannot_be_adopted_is_named(void)
{
    static const char *const names[] = { "cl_context", "cl_device_id", "cl_queue" };
    void *values[3];
    void *none = NULL;
    uint32_t index;

    if (!ocl_open(0, NULL))
        return;
    values[0] = ocl_context();
    values[1] = ocl_id();
    values[2] = ocl_queue();
    CU_ASSERT(driver_failed(ocl->adopt(ocl->plugin, names, values, 3, &none, &index), FERRY_EINVAL,
                            "cl_queue is not one of"));
    CU_ASSERT(driver_failed(ocl->adopt(ocl->plugin, names, values, 1, &none, &index), FERRY_EINVAL,
                            "cl_device_id is missing"));
    CU_ASSERT(driver_failed(ocl->adopt(ocl->plugin, names, values, 0, &none, &index), FERRY_EINVAL,
                            "cl_context is missing"));
    values[1] = NULL;
    CU_ASSERT(driver_failed(ocl->adopt(ocl->plugin, names, values, 2, &none, &index), FERRY_EINVAL,
                            "cl_device_id is NULL"));
    CU_ASSERT_PTR_NULL(none);
    ocl_close();
}

static void native_objects_have_names_and_sizes(void)
{
    static const char *const names[] = { "cl_platform_id", "cl_device_id", "cl_context",
                                         "cl_command_queue" };
    void *object;

    if (!ocl_open(0, NULL))
        return;
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        object = NULL;
        CU_ASSERT_EQUAL(ocl->native(dev, names[i], &object, sizeof(object)), 0);
        CU_ASSERT_PTR_NOT_NULL(object);
        CU_ASSERT(driver_failed(ocl->native(dev, names[i], &object, 4), FERRY_EINVAL, names[i]));
    }
    CU_ASSERT(driver_failed(ocl->native(dev, "cuda_stream", &object, sizeof(object)),
                            FERRY_EUNSUPPORTED, "cuda_stream"));
    CU_ASSERT(driver_failed(ocl->queue_native(dev, NULL, "cl_context", &object, sizeof(object)),
                            FERRY_EUNSUPPORTED, "cl_context"));
    CU_ASSERT(driver_failed(ocl->queue_native(dev, NULL, "cl_command_queue", &object, 2),
                            FERRY_EINVAL, "2 bytes"));
    ocl_close();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_event_is_done_when_the_work_before_it_is_done),
    FERRY_TEST(a_queue_waits_for_the_event_of_another),
    FERRY_TEST(a_failure_is_reported_with_its_name_by_the_next_event),
    FERRY_TEST(a_failure_is_also_reported_by_the_next_wait_once),
    FERRY_TEST(a_failure_is_reported_after_many_later_commands),
    FERRY_TEST(a_wrapped_queue_is_used_and_not_changed),
    FERRY_TEST(an_out_of_order_queue_is_refused),
    FERRY_TEST(a_device_uses_and_releases_the_context_and_queue_of_the_program),
    FERRY_TEST(an_object_that_cannot_be_adopted_is_named),
    FERRY_TEST(native_objects_have_names_and_sizes),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "opencl-queue", cases, FERRY_TEST_COUNT(cases));
}
