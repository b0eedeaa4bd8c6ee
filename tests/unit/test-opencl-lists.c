/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "fixture.h"

#include <ferry/net.h>
#include <ferry/net_info.h>
#include <ferry/profile.h>

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/*
 * Passes of a net as command buffers of cl_khr_command_buffer: recorded in the second pass, one
 * command from the third on. The plugin calls the functions below, which count and fail.
 */

enum { CREATE, FINALIZE, ENQUEUE, RECORD, CALLS };

static const char *const names[CALLS] = { "clCreateCommandBufferKHR", "clFinalizeCommandBufferKHR",
                                          "clEnqueueCommandBufferKHR",
                                          "clCommandNDRangeKernelKHR" };

static struct {
    void *next[CALLS];
    unsigned made[CALLS], kernels; /* successful calls; kernels that were enqueued plainly */
    int fails;                     /* the next call of that kind fails; −1: no failure */
} calls = { .fails = -1 };

#define NEXT(kind)                      \
    *(void **)&next = calls.next[kind]; \
    if (calls.fails == (kind)) {        \
        calls.fails = -1;               \
        return CL_OUT_OF_RESOURCES;     \
    }                                   \
    calls.made[kind]++

static void *create(cl_uint count, const cl_command_queue *queues, const cl_bitfield *properties,
                    cl_int *error)
{
    void *(*next)(cl_uint, const cl_command_queue *, const cl_bitfield *, cl_int *);

    *(void **)&next = calls.next[CREATE];
    if (calls.fails == CREATE) {
        calls.fails = -1;
        *error = CL_OUT_OF_RESOURCES;
        return NULL;
    }
    calls.made[CREATE]++;
    return next(count, queues, properties, error);
}

static cl_int finalize(void *buffer)
{
    cl_int (*next)(void *);

    NEXT(FINALIZE);
    return next(buffer);
}

static cl_int enqueue(cl_uint count, cl_command_queue *queues, void *buffer, cl_uint waits,
                      const cl_event *wait, cl_event *event)
{
    cl_int (*next)(cl_uint, cl_command_queue *, void *, cl_uint, const cl_event *, cl_event *);

    NEXT(ENQUEUE);
    return next(count, queues, buffer, waits, wait, event);
}

static cl_int record(void *buffer, cl_command_queue q, const cl_bitfield *properties,
                     cl_kernel kernel, cl_uint axes, const size_t *from, const size_t *global,
                     const size_t *local, cl_uint waits, const cl_uint *wait, cl_uint *point,
                     void **handle)
{
    cl_int (*next)(void *, cl_command_queue, const cl_bitfield *, cl_kernel, cl_uint,
                   const size_t *, const size_t *, const size_t *, cl_uint, const cl_uint *,
                   cl_uint *, void **);

    NEXT(RECORD);
    return next(buffer, q, properties, kernel, axes, from, global, local, waits, wait, point,
                handle);
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    void *(*next)(cl_platform_id, const char *);
    static const void *own[CALLS];
    void *found;

    own[CREATE] = (void *)(uintptr_t)create;
    own[FINALIZE] = (void *)(uintptr_t)finalize;
    own[ENQUEUE] = (void *)(uintptr_t)enqueue;
    own[RECORD] = (void *)(uintptr_t)record;
    *(void **)&next = dlsym(RTLD_NEXT, "clGetExtensionFunctionAddressForPlatform");
    found = next(platform, name);
    for (int i = 0; i < CALLS; i++)
        if (found && !strcmp(name, names[i])) {
            calls.next[i] = found;
            return (void *)(uintptr_t)own[i];
        }
    return found;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel, cl_uint axes,
                              const size_t *from, const size_t *global, const size_t *local,
                              cl_uint waits, const cl_event *wait, cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                   const size_t *, cl_uint, const cl_event *, cl_event *);

    *(void **)&next = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    calls.kernels++;
    return next(q, kernel, axes, from, global, local, waits, wait, event);
}

/* ---- a net ----------------------------------------------------------------------------------- */

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 6 dim: 6 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' convolution_param { num_output: 4 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'p' top: 'b' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'b' top: 'y' }\n";

#define VALUES 5

static ferry_net *open_net(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static void pass(ferry_net *net, int seed, float *out)
{
    ferry_blob *input = ferry_net_input_at(net, 0);
    float *x = ferry_blob_overwrite_host_data(input);
    const float *y;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(input); i++)
        x[i] = (float)((i + seed) % 11) / 5 - (float)seed / 3;
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_output_at(net, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    memcpy(out, y, VALUES * sizeof *y);
}

/* Whether a pass gives the bits that a net of its own gives in its first pass. */
static bool is_right(ferry_net *net, int seed)
{
    float got[VALUES], wanted[VALUES];
    ferry_net *fresh = open_net();

    pass(net, seed, got);
    pass(fresh, seed, wanted);
    ferry_net_close(fresh);
    return !memcmp(got, wanted, sizeof got) && got[0] > 0;
}

/* Command buffers that a pass enqueues; the pass is right. */
static unsigned buffers(ferry_net *net, int seed)
{
    unsigned before = calls.made[ENQUEUE];

    CU_ASSERT(is_right(net, seed));
    return calls.made[ENQUEUE] - before;
}

/* False, and the case is skipped, on a driver without the extension. */
static bool is_offered(void)
{
    char extensions[8192] = "";
    cl_device_id id = NULL;

    FX_OK(ferry_device_native(fx_device(), "cl_device_id", &id, sizeof id));
    (void)clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    if (!strstr(extensions, "cl_khr_command_buffer"))
        ferry_test_skip("the driver lacks cl_khr_command_buffer");
    return strstr(extensions, "cl_khr_command_buffer") != NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void each_pass_from_the_third_on_is_one_command(void)
{
    ferry_net *net;
    unsigned plain;
    float y[VALUES];

    if (!is_offered())
        return;
    net = open_net();
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(buffers(net, i), i > 0);
        plain = calls.kernels;
        pass(net, i, y);
        CU_ASSERT_EQUAL(calls.kernels, plain);
    }
    ferry_net_close(net);
}

static void two_nets_keep_separate_kernel_arguments(void)
{
    ferry_net *nets[2];

    if (!is_offered())
        return;
    nets[0] = open_net();
    nets[1] = open_net();
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++)
            CU_ASSERT_EQUAL(buffers(nets[k], i + 3 * k), i > 0);
    ferry_net_close(nets[0]);
    CU_ASSERT_EQUAL(buffers(nets[1], 2), 1);
    ferry_net_close(nets[1]);
}

static void the_next_pass_uses_new_weights_shapes_and_addresses(void)
{
    static const int64_t two[] = { 2, 3, 6, 6 };
    float before[VALUES], after[VALUES], *w;
    ferry_net *net;

    if (!is_offered())
        return;
    net = open_net();
    for (int i = 0; i < 3; i++)
        pass(net, 1, before);
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 4, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w[0] += 3;
    pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) != 0);
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 4, 0));
    w[0] -= 3;
    pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) == 0);
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), two, 4, NULL));
    for (int i = 0; i < 3; i++)
        pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) == 0);
    for (int layer = 0; layer < ferry_net_layer_count(net); layer++)
        for (int i = 0; i < ferry_net_param_count(net, layer); i++)
            FX_OK(ferry_memory_allow_eviction(
                ferry_blob_data_memory(ferry_net_param_at(net, layer, i))));
    FX_OK(ferry_device_make_room(fx_device(), 1 << 20));
    for (int i = 0; i < 3; i++)
        pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) == 0);
    ferry_net_close(net);
}

static void a_profiled_pass_measures_its_kernels(void)
{
    ferry_queue *q = ferry_device_queue(fx_device());
    ferry_span_times times = { .struct_size = sizeof times };
    ferry_span *span = NULL;
    ferry_net *net;

    if (!is_offered())
        return;
    net = open_net();
    for (int i = 0; i < 3; i++)
        CU_ASSERT(is_right(net, i));
    FX_OK(ferry_queue_profile(q, true));
    FX_OK(ferry_span_begin(q, &span));
    CU_ASSERT_EQUAL(buffers(net, 1), 0);
    FX_OK(ferry_span_end(span));
    FX_OK(ferry_device_synchronize(fx_device()));
    CU_ASSERT_EQUAL(ferry_span_read(span, &times), 1);
    CU_ASSERT(!times.empty && times.duration_ns > 0);
    ferry_span_destroy(span);
    FX_OK(ferry_queue_profile(q, false));
    for (int i = 0; i < 3; i++)
        CU_ASSERT(is_right(net, i));
    CU_ASSERT_EQUAL(buffers(net, 1), 1);
    ferry_net_close(net);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* The call fails in pass number `when`: that pass and later ones are right, without buffers. */
static void fails_in(int call, int when)
{
    ferry_net *net;

    if (!is_offered())
        return;
    net = open_net();
    for (int i = 0; i < 5; i++) {
        if (i == when)
            calls.fails = call;
        CU_ASSERT_EQUAL(buffers(net, i), i > 0 && i < when);
        CU_ASSERT_EQUAL(calls.fails, i < when ? -1 : calls.fails);
    }
    CU_ASSERT_EQUAL(calls.fails, -1);
    ferry_net_close(net);
}

static void without_a_command_buffer_kernels_are_enqueued(void)
{
    fails_in(CREATE, 1);
}

static void after_a_failed_recording_kernels_are_enqueued(void)
{
    fails_in(RECORD, 1);
}

static void after_a_failed_finalize_kernels_are_enqueued(void)
{
    fails_in(FINALIZE, 1);
}

static void after_a_failed_enqueue_kernels_are_enqueued(void)
{
    fails_in(ENQUEUE, 1);
}

static void after_a_later_failed_enqueue_kernels_are_enqueued(void)
{
    fails_in(ENQUEUE, 3);
}

static void without_the_option_each_kernel_is_enqueued(void)
{
    ferry_net *net;

    net = open_net();
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(buffers(net, i), 0);
    CU_ASSERT_EQUAL(calls.made[CREATE], 0);
    ferry_net_close(net);
}

static const ferry_test_case lists[] = {
    FERRY_TEST(each_pass_from_the_third_on_is_one_command),
    FERRY_TEST(two_nets_keep_separate_kernel_arguments),
    FERRY_TEST(the_next_pass_uses_new_weights_shapes_and_addresses),
    FERRY_TEST(a_profiled_pass_measures_its_kernels),
};
static const ferry_test_case creates[] = {
    FERRY_TEST(without_a_command_buffer_kernels_are_enqueued)
};
static const ferry_test_case records[] = {
    FERRY_TEST(after_a_failed_recording_kernels_are_enqueued)
};
static const ferry_test_case finalizes[] = {
    FERRY_TEST(after_a_failed_finalize_kernels_are_enqueued)
};
static const ferry_test_case enqueues[] = {
    FERRY_TEST(after_a_failed_enqueue_kernels_are_enqueued)
};
static const ferry_test_case later[] = {
    FERRY_TEST(after_a_later_failed_enqueue_kernels_are_enqueued)
};
static const ferry_test_case off[] = { FERRY_TEST(without_the_option_each_kernel_is_enqueued) };

/* Each set has a process of its own, because a failure turns command buffers off for a device. */
int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "opencl[command_buffers=yes]", lists, FERRY_TEST_COUNT(lists) },
        { "opencl[command_buffers=yes]", creates, 1 },
        { "opencl[command_buffers=yes]", records, 1 },
        { "opencl[command_buffers=yes]", finalizes, 1 },
        { "opencl[command_buffers=yes]", enqueues, 1 },
        { "opencl[command_buffers=yes]", later, 1 },
        { "opencl", off, 1 },
    };

    return ferry_test_main_sets(argc, argv, "OpenCL lists", sets, FERRY_TEST_COUNT(sets));
}
