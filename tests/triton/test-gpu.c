/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs and outputs in the memory of a GPU, in a double of the server and on CUDA's double. */

static ferry_runtime *rt;
static ferry_device *gpu;

static bool has_gpu(void)
{
    if (ferry_runtime_open(NULL, &rt) == 0 && ferry_runtime_get_device(rt, "cuda:0", &gpu) == 0)
        return true;
    ferry_test_skip("there is no GPU");
    return false;
}

/* Memory of the GPU with that content. */
static ferry_memory *on_gpu(const void *content, size_t bytes)
{
    ferry_memory *m;
    void *to;

    CU_ASSERT_EQUAL_FATAL(ferry_memory_create(gpu, bytes, &m), 0);
    to = ferry_memory_overwrite_host_data(m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    memcpy(to, content, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ferry_memory_mutable_device_data(m).handle);
    CU_ASSERT_EQUAL_FATAL(ferry_device_synchronize(gpu), 0);
    return m;
}

static void *pointer_of(ferry_memory *m)
{
    return ferry_device_pointer(gpu, ferry_memory_mutable_device_data(m));
}

static void move_input(TRITONBACKEND_Request *r, ferry_memory *m)
{
    r->inputs[0].memory = TRITONSERVER_MEMORY_GPU;
    r->inputs[0].buffers[0].data = pointer_of(m);
}

static void send_all(TRITONBACKEND_Request **all, uint32_t n, const char *output)
{
    for (uint32_t k = 0; k < n; k++) {
        all[k]->outputs[0] = output;
        all[k]->output_count = 1;
    }
    double_execute(&instances[0], all, n);
}

/* Compares with the net's own answer for the same pixels, which are on the host. */
static bool is_right(TRITONBACKEND_Request *r, const float *pixels, int net)
{
    r->inputs[0].buffers[0].data = pixels;
    return nearly_answered(r, net);
}

static uint64_t bytes_to_gpu(void)
{
    ferry_device_stats s = { .struct_size = sizeof(s) };

    CU_ASSERT_EQUAL(ferry_device_get_stats(gpu, &s), 0);
    return s.bytes_h2d;
}

static void an_input_on_the_instances_gpu_is_not_copied(void)
{
    float *pixels = pixels_of(1, PIXELS);
    TRITONBACKEND_Request r, *all[1] = { &r };
    ferry_memory *m;

    if (!has_gpu())
        return;
    open_model(NET_SCORES, config_of(4, ""), 1);
    m = on_gpu(pixels, PIXELS * sizeof(float));
    for (int k = 0; k < 3; k++) {
        uint64_t before = bytes_to_gpu();

        ask(&r, pixels, 1, SIDE, SIDE);
        move_input(&r, m);
        send_all(all, 1, "prob");
        CU_ASSERT(k == 0 || bytes_to_gpu() == before); /* the first pass brings the weights */
        CU_ASSERT(is_right(&r, pixels, NET_SCORES));
        double_reset(&r);
    }
    ferry_memory_release(m);
    close_model(1);
    ferry_runtime_close(rt);
    free(pixels);
}

static void gpu_memory_of_a_request_is_not_used_after_the_response(void)
{
    TRITONBACKEND_Request r, *all[1] = { &r };

    if (!has_gpu())
        return;
    open_model(NET_SCORES, config_of(4, ""), 1);
    for (unsigned k = 0; k < 6; k++) {
        float *pixels = pixels_of(k, PIXELS), junk[PIXELS];
        ferry_memory *m = on_gpu(pixels, PIXELS * sizeof(float));

        ask(&r, pixels, 1, SIDE, SIDE);
        if (k % 3 != 2) /* some inputs are on the host */
            move_input(&r, m);
        send_all(all, 1, "prob");
        memset(junk, 0xff, sizeof(junk));
        CU_ASSERT_EQUAL(ferry_device_synchronize(gpu), 0);
        memcpy(ferry_memory_overwrite_host_data(m), junk, sizeof(junk));
        CU_ASSERT_PTR_NOT_NULL(ferry_memory_device_data(m).handle);
        CU_ASSERT(is_right(&r, pixels, NET_SCORES));
        double_reset(&r);
        ferry_memory_release(m);
        free(pixels);
    }
    close_model(1);
    ferry_runtime_close(rt);
}

static void requests_in_host_and_gpu_memory_become_one_batch(void)
{
    TRITONBACKEND_Request r[3], *all[3] = { &r[0], &r[1], &r[2] };
    ferry_memory *m[3];
    float *pixels[3];

    if (!has_gpu())
        return;
    open_model(NET_SCORES, config_of(4, ""), 1);
    for (unsigned k = 0; k < 3; k++) {
        pixels[k] = pixels_of(k, PIXELS);
        m[k] = on_gpu(pixels[k], PIXELS * sizeof(float));
        ask(&r[k], pixels[k], 1, SIDE, SIDE);
        if (k != 1)
            move_input(&r[k], m[k]);
    }
    send_all(all, 3, "prob");
    CU_ASSERT_EQUAL(instances[0].passes, 1);
    for (int k = 0; k < 3; k++) {
        CU_ASSERT(is_right(&r[k], pixels[k], NET_SCORES));
        double_reset(&r[k]);
        ferry_memory_release(m[k]);
        free(pixels[k]);
    }
    close_model(1);
    ferry_runtime_close(rt);
}

static void a_layer_in_place_does_not_change_gpu_memory_of_the_request(void)
{
    float *pixels = pixels_of(3, PIXELS);
    TRITONBACKEND_Request r, *all[1] = { &r };
    ferry_memory *m;

    if (!has_gpu())
        return;
    open_model(NET_INPLACE, config_of(4, ""), 1);
    m = on_gpu(pixels, PIXELS * sizeof(float));
    for (int k = 0; k < 3; k++) {
        ask(&r, pixels, 1, SIDE, SIDE);
        move_input(&r, m);
        send_all(all, 1, "conv");
        CU_ASSERT(is_right(&r, pixels, NET_INPLACE));
        double_reset(&r);
        CU_ASSERT_EQUAL(memcmp(ferry_memory_host_data(m), pixels, PIXELS * sizeof(float)), 0);
    }
    ferry_memory_release(m);
    close_model(1);
    ferry_runtime_close(rt);
    free(pixels);
}

static void an_output_is_written_to_the_memory_of_a_gpu(void)
{
    float *pixels = pixels_of(4, 2 * PIXELS), nothing[20] = { 0 };
    TRITONBACKEND_Request r, *all[1] = { &r };
    ferry_memory *m;
    void *copy = malloc(sizeof(nothing));

    if (!has_gpu())
        return;
    open_model(NET_SCORES, config_of(4, ""), 1);
    m = on_gpu(nothing, sizeof(nothing));
    ask(&r, pixels, 2, SIDE, SIDE);
    r.response.gpu = pointer_of(m);
    send_all(all, 1, "prob");
    CU_ASSERT_STRING_EQUAL(r.response.error, "");
    memcpy(copy, ferry_memory_host_data(m), sizeof(nothing));
    r.response.outputs[0].data = copy; /* freed by double_reset */
    CU_ASSERT(nearly_answered(&r, NET_SCORES));
    double_reset(&r);
    ferry_memory_release(m);
    close_model(1);
    ferry_runtime_close(rt);
    free(pixels);
}

/* The instance computes on the processor; the request is in the memory of GPU 0. */
static void another_device_computes_on_inputs_in_gpu_memory(void)
{
    static const char on_cpu[] = ", \"parameters\": {\"device\": {\"string_value\": \"cpu\"}}";
    float *pixels = pixels_of(5, PIXELS);
    TRITONBACKEND_Request r, *all[1] = { &r };
    ferry_memory *m;

    if (!has_gpu())
        return;
    open_model(NET_SCORES, config_of(4, on_cpu), 1);
    m = on_gpu(pixels, PIXELS * sizeof(float));
    ask(&r, pixels, 1, SIDE, SIDE);
    move_input(&r, m);
    send_all(all, 1, "prob");
    CU_ASSERT(is_right(&r, pixels, NET_SCORES));
    double_reset(&r);
    ferry_memory_release(m);
    close_model(1);
    ferry_runtime_close(rt);
    free(pixels);
}

static void a_request_in_memory_of_a_missing_gpu_is_refused_alone(void)
{
    float *pixels = pixels_of(6, PIXELS);
    TRITONBACKEND_Request r[2], *all[2] = { &r[0], &r[1] };

    if (!has_gpu())
        return;
    open_model(NET_SCORES, config_of(4, ""), 1);
    for (int k = 0; k < 2; k++)
        ask(&r[k], pixels, 1, SIDE, SIDE);
    r[1].inputs[0].memory = TRITONSERVER_MEMORY_GPU;
    r[1].inputs[0].id = 7;
    send_all(all, 2, "prob");
    CU_ASSERT(nearly_answered(&r[0], NET_SCORES));
    CU_ASSERT_PTR_NOT_NULL(strstr(r[1].response.error, "cuda:7"));
    printf("     %s\n", r[1].response.error);
    double_reset(&r[0]);
    double_reset(&r[1]);
    close_model(1);
    ferry_runtime_close(rt);
    free(pixels);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(an_input_on_the_instances_gpu_is_not_copied),
    FERRY_TEST(gpu_memory_of_a_request_is_not_used_after_the_response),
    FERRY_TEST(requests_in_host_and_gpu_memory_become_one_batch),
    FERRY_TEST(a_layer_in_place_does_not_change_gpu_memory_of_the_request),
    FERRY_TEST(an_output_is_written_to_the_memory_of_a_gpu),
    FERRY_TEST(another_device_computes_on_inputs_in_gpu_memory),
    FERRY_TEST(a_request_in_memory_of_a_missing_gpu_is_refused_alone),
};

int main(int argc, char **argv)
{
    const ferry_test_set sets[] = { { "cuda", cases, FERRY_TEST_COUNT(cases) } };

    return fixture_main(argc, argv, "triton, memory of a GPU", sets, FERRY_TEST_COUNT(sets));
}
