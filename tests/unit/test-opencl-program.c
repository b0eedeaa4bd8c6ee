/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "fixture.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A program that uses ferry and OpenCL together, with shared memory and without. The functions
 * below count its calls before the ICD loader gets them.
 */

static struct {
    unsigned contexts, maps, unmaps, map_writes, writes, reads, copies;
    bool fail_fill; /* the next one, when it runs */
    cl_event failing;
} calls;

#define NEXT(name) (*(void **)&next = dlsym(RTLD_NEXT, name))

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *ids,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *arg, cl_int *error)
{
    cl_context (*next)(const cl_context_properties *, cl_uint, const cl_device_id *,
                       void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *,
                       cl_int *);

    NEXT("clCreateContext");
    calls.contexts++;
    return next(properties, count, ids, notify, arg, error);
}

void *clEnqueueMapBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint events, const cl_event *wait_list,
                         cl_event *event, cl_int *error)
{
    void *(*next)(cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint,
                  const cl_event *, cl_event *, cl_int *);

    NEXT("clEnqueueMapBuffer");
    calls.maps++;
    calls.map_writes += flags & CL_MAP_WRITE ? 1 : 0;
    return next(q, mem, blocking, flags, offset, size, events, wait_list, event, error);
}

cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem mem, void *view, cl_uint events,
                               const cl_event *wait_list, cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *);

    NEXT("clEnqueueUnmapMemObject");
    calls.unmaps++;
    return next(q, mem, view, events, wait_list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking, size_t offset,
                            size_t size, const void *from, cl_uint events,
                            const cl_event *wait_list, cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
                   const cl_event *, cl_event *);

    NEXT("clEnqueueWriteBuffer");
    calls.writes++;
    return next(q, mem, blocking, offset, size, from, events, wait_list, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem mem, cl_bool blocking, size_t offset,
                           size_t size, void *to, cl_uint events, const cl_event *wait_list,
                           cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
                   const cl_event *, cl_event *);

    NEXT("clEnqueueReadBuffer");
    calls.reads++;
    return next(q, mem, blocking, offset, size, to, events, wait_list, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint events, const cl_event *wait_list,
                           cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                   const cl_event *, cl_event *);

    NEXT("clEnqueueCopyBuffer");
    calls.copies++;
    return next(q, from, to, from_offset, to_offset, size, events, wait_list, event);
}

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem mem, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint events, const cl_event *wait_list,
                           cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint,
                   const cl_event *, cl_event *);
    cl_int error;

    NEXT("clEnqueueFillBuffer");
    error = next(q, mem, pattern, pattern_size, offset, size, events, wait_list, event);
    if (calls.fail_fill && !error) {
        calls.fail_fill = false;
        calls.failing = *event;
        clRetainEvent(*event); /* its address is not reused */
    }
    return error;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                      size_t *value_size)
{
    cl_int (*next)(cl_event, cl_event_info, size_t, void *, size_t *);
    cl_int error;

    NEXT("clGetEventInfo");
    error = next(event, what, size, value, value_size);
    if (!error && event == calls.failing && what == CL_EVENT_COMMAND_EXECUTION_STATUS &&
        *(cl_int *)value == CL_COMPLETE)
        *(cl_int *)value = CL_OUT_OF_RESOURCES;
    return error;
}

static void begin(void)
{
    memset(&calls, 0, sizeof(calls));
}

/* ---- enumeration ---------------------------------------------------------------------------- */

/* The first of its process. */
static void devices_are_listed_without_a_context(void)
{
    ferry_runtime_options options = { .struct_size = sizeof(options),
                                      .backend = ferry_test_backend() };
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    int count = 0;

    begin();
    FX_OK_FATAL(ferry_runtime_open(&options, &rt));
    FX_OK(ferry_runtime_enumerate(rt, &count));
    for (int i = 0; i < count; i++) {
        FX_OK_FATAL(ferry_runtime_device_at(rt, i, &dev));
        CU_ASSERT(ferry_device_get_properties(dev)->memory_total > 0);
    }
    CU_ASSERT_EQUAL(calls.contexts, 0);
    FX_OK_FATAL(ferry_runtime_get_device(rt, "opencl:0", &dev));
    CU_ASSERT_PTR_NOT_NULL(ferry_device_queue(dev)); /* this takes one */
    CU_ASSERT_EQUAL(calls.contexts, 1);
    ferry_runtime_close(rt);
}

/* ---- transitions ---------------------------------------------------------------------------- */

static const struct {
    bool on_host;
    unsigned access;
    unsigned maps, unmaps, map_writes; /* where memory is shared, so far */
    unsigned writes, reads;            /* where it is not */
} steps[] = {
    { true, FERRY_READ | FERRY_WRITE, 1, 0, 1, 0, 0 },
    { false, FERRY_READ, 2, 1, 1, 1, 0 },
    { true, FERRY_READ, 2, 1, 1, 1, 0 },
    { false, FERRY_READ | FERRY_WRITE, 2, 2, 1, 1, 0 },
    { true, FERRY_READ, 3, 2, 1, 1, 1 },
    { true, FERRY_READ | FERRY_WRITE, 4, 3, 2, 1, 1 },
    { false, FERRY_WRITE, 4, 4, 2, 1, 1 },
    { true, FERRY_WRITE, 5, 4, 3, 1, 1 },
    { false, FERRY_READ | FERRY_WRITE, 5, 5, 3, 2, 1 },
    { true, FERRY_READ, 6, 5, 3, 2, 2 },
};

/* PoCL returns one pointer for every map, so only the number of maps shows a missing one. */
static void each_access_does_only_the_expected_maps_and_copies(void)
{
    ferry_device *dev = fx_device();
    bool shared = !fx_discrete();
    ferry_memory *m = fx_memory(FX_BYTES);
    ferry_memory *warm = fx_memory_in(FERRY_HEAD_AT_HOST, true); /* the pools have their blocks */
    ferry_ref ref;

    ferry_memory_release(warm);
    begin();
    fx_mark();
    for (size_t i = 0; i < FERRY_TEST_COUNT(steps); i++) {
        FX_OK(ferry_memory_access(m, steps[i].on_host ? NULL : dev, steps[i].access, NULL, &ref));
        CU_ASSERT_EQUAL(calls.maps, shared ? steps[i].maps : 0);
        CU_ASSERT_EQUAL(calls.unmaps, shared ? steps[i].unmaps : 0);
        CU_ASSERT_EQUAL(calls.map_writes, shared ? steps[i].map_writes : 0);
        CU_ASSERT_EQUAL(calls.writes, shared ? 0 : steps[i].writes);
        CU_ASSERT_EQUAL(calls.reads, shared ? 0 : steps[i].reads);
        CU_ASSERT_EQUAL(fx_copies(), calls.writes + calls.reads);
        CU_ASSERT(shared ? fx_since().maps > 0 : fx_since().maps == 0);
    }
    ferry_memory_release(m);
    CU_ASSERT(calls.maps == calls.unmaps);
    CU_ASSERT_EQUAL(calls.copies, 0);
    fx_end();
}

/* ---- the program's own objects -------------------------------------------------------------- */

struct own {
    ferry_runtime *rt;
    cl_device_id id;
    cl_context context;
    cl_command_queue q, second;
};

static struct own create_own(void)
{
    ferry_runtime_options options = { .struct_size = sizeof(options),
                                      .backend = ferry_test_backend() };
    struct own o = { 0 };
    cl_int error;

    FX_OK_FATAL(ferry_device_native(fx_device(), "cl_device_id", &o.id, sizeof(o.id)));
    FX_OK_FATAL(ferry_runtime_open(&options, &o.rt));
    o.context = clCreateContext(NULL, 1, &o.id, NULL, NULL, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    o.q = clCreateCommandQueue(o.context, o.id, 0, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    o.second = clCreateCommandQueue(o.context, o.id, 0, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    return o;
}

/* The remaining references of the context; PoCL's threads release theirs a moment later. */
static cl_uint references(cl_context context)
{
    cl_uint count = 0;

    for (int i = 0; i < 10000 && count != 1; i++) {
        usleep(i ? 1000 : 0);
        CU_ASSERT_EQUAL(
            clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(count), &count, NULL), 0);
    }
    return count;
}

/* Devices belong to the runtime and must be closed before the objects that they use. */
static void destroy_own(struct own *o)
{
    ferry_runtime_close(o->rt);
    CU_ASSERT_EQUAL(clReleaseCommandQueue(o->second), 0);
    CU_ASSERT_EQUAL(clReleaseCommandQueue(o->q), 0);
    CU_ASSERT_EQUAL(references(o->context), 1);
    CU_ASSERT_EQUAL(clReleaseContext(o->context), 0);
}

static ferry_device *adopt(const struct own *o, cl_command_queue q)
{
    const ferry_native_object items[] = { { "cl_context", o->context },
                                          { "cl_device_id", o->id },
                                          { "cl_command_queue", q } };
    ferry_device *dev = NULL;

    FX_OK_FATAL(ferry_device_adopt(o->rt, "opencl", items, q ? 3 : 2, &dev));
    CU_ASSERT_PTR_NOT_NULL_FATAL(dev);
    return dev;
}

/* A command of the program's own, on its own queue, with ferry's reference. */
static void set_floats(cl_command_queue q, ferry_ref ref, int64_t first, int64_t count, float value)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(ref.handle);
    CU_ASSERT_EQUAL(clEnqueueFillBuffer(q, ref.handle, &value, sizeof(value),
                                        (size_t)ref.offset + (size_t)first * sizeof(value),
                                        (size_t)count * sizeof(value), 0, NULL, NULL),
                    0);
}

/*
 * A gate holds back all commands until everything is enqueued: a wait in between would never end.
 */
static void a_device_in_the_programs_context_orders_work_of_both(void)
{
    const int64_t count = 1000;
    struct own o = create_own();
    ferry_device *dev = adopt(&o, o.q);
    ferry_blob *b = NULL;
    cl_command_queue found = NULL;
    cl_event gate;
    cl_int error;

    FX_OK(ferry_queue_native(ferry_device_queue(dev), "cl_command_queue", &found, sizeof(found)));
    CU_ASSERT_PTR_EQUAL(found, o.q);
    FX_OK_FATAL(ferry_blob_create(dev, FERRY_F32, &count, 1, &b));
    FX_OK(ferry_blob_fill_diff(b, 1));
    CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
    FX_OK(ferry_device_synchronize(dev));
    gate = clCreateUserEvent(o.context, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    CU_ASSERT_EQUAL(clEnqueueBarrierWithWaitList(o.q, 1, &gate, NULL), 0);
    FX_OK(ferry_math_fill(ferry_device_queue(dev), FERRY_F32, count, 3,
                          ferry_blob_mutable_device_data(b)));
    set_floats(o.q, ferry_blob_mutable_device_data(b), 10, 5, 7);
    FX_OK(ferry_math_axpy(ferry_device_queue(dev), FERRY_F32, count, -1, ferry_blob_device_diff(b),
                          ferry_blob_mutable_device_data(b)));
    CU_ASSERT_EQUAL(clSetUserEventStatus(gate, CL_COMPLETE), 0);
    for (int64_t i = 8; i < 17; i++)
        CU_ASSERT_EQUAL(fx_get(FERRY_F32, ferry_blob_host_data(b), i), i < 10 || i >= 15 ? 2 : 6);
    clReleaseEvent(gate);
    ferry_blob_destroy(b);
    destroy_own(&o);
}

/* Ferry waits for the program's commands on a queue of its own, which a gate holds back here. */
static void a_wrapped_queue_is_waited_for(void)
{
    struct own o = create_own();
    ferry_device *dev = adopt(&o, NULL);
    ferry_queue *second = NULL;
    ferry_event *done = NULL;
    ferry_memory *m = NULL;
    cl_event gate;
    cl_int error;
    ferry_ref ref;

    FX_OK_FATAL(ferry_queue_wrap(dev, o.second, &second));
    CU_ASSERT_PTR_EQUAL(ferry_queue_device(second), dev);
    FX_OK_FATAL(ferry_memory_create(dev, 64, &m));
    FX_OK(ferry_memory_access(m, dev, FERRY_WRITE, second, &ref));
    gate = clCreateUserEvent(o.context, &error);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    CU_ASSERT_EQUAL(clEnqueueBarrierWithWaitList(o.second, 1, &gate, NULL), 0);
    set_floats(o.second, ref, 0, 16, 5);
    FX_OK(ferry_event_record(second, &done));
    CU_ASSERT_EQUAL(ferry_event_query(done), 0);
    FX_FAILS(FERRY_EBUSY, ferry_memory_access(m, NULL, FERRY_READ | FERRY_NOWAIT, NULL, &ref));
    CU_ASSERT_EQUAL(clSetUserEventStatus(gate, CL_COMPLETE), 0);
    CU_ASSERT_EQUAL(fx_get(FERRY_F32, ferry_memory_host_data(m), 15), 5);
    CU_ASSERT_EQUAL(ferry_event_query(done), 1);
    clReleaseEvent(gate);
    ferry_event_destroy(done);
    ferry_memory_release(m);
    ferry_queue_destroy(second);
    destroy_own(&o);
}

static void invalid_native_objects_are_refused_by_name(void)
{
    struct own o = create_own();
    const ferry_native_object items[] = { { "cl_context", o.context }, { "cl_queue", o.q } };
    ferry_device *none = NULL;
    ferry_queue *q = NULL;

    FX_FAILS(FERRY_EINVAL, ferry_device_adopt(o.rt, "opencl", items, 2, &none));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(ferry_last_error(), "opencl:adopted: adopt: cl_queue is not one of"));
    CU_ASSERT_PTR_NULL(none);
    FX_FAILS(FERRY_EINVAL, ferry_queue_wrap(fx_device(), o.q, &q)); /* of another context */
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "the queue belongs to another context"));
    CU_ASSERT_PTR_NULL(q);
    destroy_own(&o);
}

static void devices_in_one_context_copy_directly(void)
{
    struct own o = create_own();
    ferry_device *a = adopt(&o, o.q), *b = adopt(&o, o.second);
    ferry_memory *m = NULL;
    ferry_device_stats s = { .struct_size = sizeof s };
    unsigned char *p;
    ferry_ref ref;

    FX_OK_FATAL(ferry_memory_create(a, FX_BYTES, &m));
    p = ferry_memory_overwrite_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    memset(p, FX_NEW, FX_BYTES);
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_mutable_device_data(m).handle); /* now a has it alone */
    begin();
    FX_OK(ferry_memory_access(m, b, FERRY_READ | FERRY_WRITE, NULL, &ref));
    CU_ASSERT(calls.copies == 1 && calls.maps == 0 && calls.writes == 0 && calls.reads == 0);
    FX_OK(ferry_device_get_stats(b, &s));
    CU_ASSERT(s.copies_d2d == 1 && s.bytes_d2d == FX_BYTES);
    CU_ASSERT(fx_all_equal(ferry_memory_host_data(m), FX_NEW));
    ferry_memory_release(m);
    destroy_own(&o);
}

static void the_example_runs_an_opencl_kernel_on_a_blob(void)
{
    const char *top = getenv("FERRY_TEST_BUILDDIR");
    char line[4096];
    FILE *f;

    snprintf(line, sizeof(line), "'%s/examples/opencl-kernel'", top ? top : ".");
    fflush(stdout);
    f = popen(line, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), f));
    CU_ASSERT_EQUAL(pclose(f), 0);
    CU_ASSERT_STRING_EQUAL(line, "opencl:0: sum 8000 of 1000 elements\n");
}

/* ---- failures ------------------------------------------------------------------------------- */

static void a_later_failure_is_reported_at_the_next_access_by_name(void)
{
    ferry_device *dev = fx_device();
    ferry_memory *m = fx_memory_in(FERRY_HEAD_AT_DEVICE, false);
    char device[64];

    begin();
    snprintf(device, sizeof(device), "%s: ", ferry_device_name(dev));
    FX_OK(ferry_device_synchronize(dev));
    calls.fail_fill = true;
    fx_device_set(ferry_memory_mutable_device_data(m), FX_BYTES, FX_NEW);
    CU_ASSERT_FALSE(calls.fail_fill);
    FX_FAILED(FERRY_EDEVICE, !ferry_memory_host_data(m));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), device));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "clEnqueueFillBuffer: CL_OUT_OF_RESOURCES"));
    CU_ASSERT_FALSE(ferry_memory_is_valid_at(m, NULL));
    CU_ASSERT_PTR_NOT_NULL(ferry_memory_host_data(m));
    (void)ferry_device_synchronize(dev);
    clReleaseEvent(calls.failing);
    begin();
    ferry_memory_release(m);
    fx_end();
}

static void the_error_for_a_too_large_block_has_device_size_and_limit(void)
{
    ferry_device *dev = fx_device();
    uint64_t most = ferry_device_get_properties(dev)->max_alloc, want = most + 4096;
    char text[256];
    ferry_memory *m;

    if (!most || want > SIZE_MAX / 2) {
        ferry_test_skip("the device has no largest block");
        return;
    }
    m = fx_memory((size_t)want);
    FX_FAILED(FERRY_ENOMEM, !ferry_memory_overwrite_device_data(m).handle);
    snprintf(text, sizeof(text),
             "%s: alloc of %" PRIu64 " bytes: clCreateBuffer: CL_INVALID_BUFFER_SIZE: %" PRIu64
             " bytes requested, the device's largest block is %" PRIu64 " bytes",
             ferry_device_name(dev), want, want, most);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), text);
    ferry_memory_release(m);
    fx_end();
}

/* ---- without the extensions ----------------------------------------------------------------- */

static void f64_and_f16_are_computed_on_the_host_and_counted(void)
{
    static const ferry_dtype dtypes[] = { FERRY_F64, FERRY_F16 };
    double sum = 0;

    fx_device();
    for (size_t i = 0; i < FERRY_TEST_COUNT(dtypes); i++) {
        ferry_blob *b = FX_BLOB(dtypes[i], 100);

        FX_OK(ferry_blob_fill_data(b, 3));
        FX_OK(ferry_blob_fill_diff(b, 1));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_diff(b).handle);
        fx_mark();
        FX_OK(ferry_blob_update(b));
        CU_ASSERT_EQUAL(fx_since().fallbacks, 1);
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_mutable_device_data(b).handle);
        FX_OK(ferry_blob_asum_data(b, &sum));
        CU_ASSERT_EQUAL(sum, 200);
        CU_ASSERT_EQUAL(fx_since().fallbacks, 2);
        ferry_blob_destroy(b);
    }
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(devices_are_listed_without_a_context),
    FERRY_TEST(each_access_does_only_the_expected_maps_and_copies),
    FERRY_TEST(a_device_in_the_programs_context_orders_work_of_both),
    FERRY_TEST(a_wrapped_queue_is_waited_for),
    FERRY_TEST(invalid_native_objects_are_refused_by_name),
    FERRY_TEST(devices_in_one_context_copy_directly),
    FERRY_TEST(the_example_runs_an_opencl_kernel_on_a_blob),
    FERRY_TEST(a_later_failure_is_reported_at_the_next_access_by_name),
    FERRY_TEST(the_error_for_a_too_large_block_has_device_size_and_limit),
};

static const ferry_test_case fallback_cases[] = {
    FERRY_TEST(f64_and_f16_are_computed_on_the_host_and_counted),
};

int main(int argc, char **argv)
{
    int result;

    setenv("FERRY_TEST_BACKENDS", "opencl[zero_copy=on] opencl[zero_copy=off]", 1);
    result = ferry_test_main_backends(argc, argv, "opencl-program", cases, FERRY_TEST_COUNT(cases));
    setenv("FERRY_TEST_BACKENDS", "opencl[f64=off,f16=off]", 1);
    return ferry_test_worse(result,
                            ferry_test_main_backends(argc, argv, "opencl-program", fallback_cases,
                                                     FERRY_TEST_COUNT(fallback_cases)));
}
