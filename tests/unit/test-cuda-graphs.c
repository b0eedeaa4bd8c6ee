/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-double.h"
#include "world.h"

#include <ferry/net.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Passes of a net as CUDA graphs, on the doubles: recorded in the second pass, one launch from the
 * third on; and what happens when a call of that fails.
 */

#define UNKNOWN 999

static const char text[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 6 dim: 6 } "
    "} }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { num_output: 4 "
    "kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { pool: AVE "
    "global_pooling: true } }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'p' top: 'b' inner_product_param { num_output: "
    "5 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 's' type: 'Softmax' bottom: 'b' top: 'y' }\n";

#define VALUES 5

static const struct cuda_double_control *control;

static ferry_net *open_net(void)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    FX_OK(ferry_net_open(wx_dev(0), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    control = cuda_double_find();
    CU_ASSERT_PTR_NOT_NULL_FATAL(control);
    return net;
}

/* A pass over x whose elements depend on `seed`. */
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

/* Launches of kernels, calls of cuDNN that compute, launches of graphs. */
static unsigned launches(void)
{
    return control->calls("cuLaunchKernel") + control->calls("cudnnConvolutionForward") +
           control->calls("cudnnAddTensor");
}

/* ---- lists ---- */

static void from_the_third_pass_on_a_pass_is_one_launch(void)
{
    ferry_net *net;
    float y[VALUES];

    wx_begin();
    net = open_net();
    for (int i = 0; i < 5; i++) {
        unsigned single, graphs;

        CU_ASSERT(is_right(net, i));
        single = launches();
        graphs = control->calls("cudaGraphLaunch");
        pass(net, i + 1, y);
        CU_ASSERT_EQUAL(control->calls("cudaGraphLaunch") - graphs, 1);
        CU_ASSERT((launches() - single > 2) == (i == 0)); /* the second pass captures them */
    }
    CU_ASSERT_EQUAL(control->live_graphs(), 1);
    ferry_net_close(net);
    CU_ASSERT_EQUAL(control->live_graphs(), 0);
    wx_end();
}

static void new_weights_and_shapes_are_in_a_replayed_pass(void)
{
    static const int64_t two[] = { 2, 3, 6, 6 };
    float before[VALUES], after[VALUES], *w;
    unsigned graphs;
    ferry_net *net;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 3; i++)
        pass(net, 1, before);
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 3, 0));
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w[0] += 3;
    pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) != 0);
    w = ferry_blob_mutable_host_data(ferry_net_param_at(net, 3, 0));
    w[0] -= 3;
    pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) == 0);
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), two, 4, NULL));
    graphs = control->calls("cudaGraphLaunch");
    pass(net, 1, after);
    CU_ASSERT(memcmp(before, after, sizeof before) == 0);
    CU_ASSERT_EQUAL(control->calls("cudaGraphLaunch"), graphs);
    ferry_net_close(net);
    CU_ASSERT_EQUAL(control->live_graphs(), 0);
    wx_end();
}

/* ---- failures ---- */

/* The call fails in pass number `when`, from 0: that pass and later ones are right, without graphs. */
static void fails_in(const char *call, int when)
{
    unsigned graphs = 0, misuses;
    ferry_net *net;

    wx_begin();
    net = open_net();
    misuses = control->misuses();
    for (int i = 0; i < 5; i++) {
        if (i == when)
            control->fail(call, 1, UNKNOWN);
        CU_ASSERT(is_right(net, i));
        control->fail(call, 0, 0);
        if (i == when)
            graphs = control->calls("cudaGraphLaunch");
    }
    CU_ASSERT_EQUAL(control->calls("cudaGraphLaunch"), graphs);
    CU_ASSERT_EQUAL(control->misuses(), misuses);
    ferry_net_close(net);
    CU_ASSERT_EQUAL(control->live_graphs(), 0);
    wx_end();
}

static void a_capture_that_cannot_begin(void)
{
    fails_in("cudaStreamBeginCapture", 1);
}

static void a_capture_that_cannot_end(void)
{
    fails_in("cudaStreamEndCapture", 1);
}

static void a_graph_that_cannot_be_instantiated(void)
{
    fails_in("cudaGraphInstantiate", 1);
}

static void a_graph_that_cannot_be_launched(void)
{
    fails_in("cudaGraphLaunch", 1);
}

static void nor_later(void)
{
    fails_in("cudaGraphLaunch", 3);
}

static void a_run_that_fails_while_it_is_captured(void)
{
    fails_in("cuLaunchKernel", 1);
}

/* ---- a real net ---- */

static void a_pass_of_squeezenet_is_one_launch(void)
{
    const char *data = getenv("FERRY_TEST_DATA");
    static const int64_t small[] = { 1, 3, 64, 64 };
    char file[4096];
    unsigned single[3], graphs[3];
    ferry_net *net = NULL;

    snprintf(file, sizeof(file), "%s/nets/squeezenet_dc/SqueezeNet_deploy.prototxt",
             data ? data : "");
    if (!data) {
        ferry_test_skip("FERRY_TEST_DATA is not set");
        return;
    }
    wx_begin();
    FX_OK(ferry_net_open(wx_dev(0), file, NULL, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    control = cuda_double_find();
    FX_OK(ferry_blob_reshape(ferry_net_input_at(net, 0), small, 4, NULL));
    for (int i = 0; i < 3; i++) {
        single[i] = launches();
        graphs[i] = control->calls("cudaGraphLaunch");
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0)));
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT_PTR_NOT_NULL(ferry_blob_host_data(ferry_net_output_at(net, 0)));
        single[i] = launches() - single[i];
        graphs[i] = control->calls("cudaGraphLaunch") - graphs[i];
    }
    printf("     passes of SqueezeNet: %u, %u, %u launches of kernels and cuDNN, %u, %u, %u of "
           "graphs\n",
           single[0], single[1], single[2], graphs[0], graphs[1], graphs[2]);
    CU_ASSERT(single[0] > 20 && graphs[0] == 0);
    CU_ASSERT(single[2] == 0 && graphs[2] == 1);
    ferry_net_close(net);
    wx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(from_the_third_pass_on_a_pass_is_one_launch),
    FERRY_TEST(new_weights_and_shapes_are_in_a_replayed_pass),
    FERRY_TEST(a_pass_of_squeezenet_is_one_launch),
};
static const ferry_test_case begins[] = { FERRY_TEST(a_capture_that_cannot_begin) };
static const ferry_test_case ends[] = { FERRY_TEST(a_capture_that_cannot_end) };
static const ferry_test_case instantiates[] = { FERRY_TEST(a_graph_that_cannot_be_instantiated) };
static const ferry_test_case launched[] = { FERRY_TEST(a_graph_that_cannot_be_launched) };
static const ferry_test_case later[] = { FERRY_TEST(nor_later) };
static const ferry_test_case run[] = { FERRY_TEST(a_run_that_fails_while_it_is_captured) };

/* Worlds, as a failure turns graphs off for a device. */
int main(int argc, char **argv)
{
    static const char *const cuda[] = { "plugin", "cuda", "peer", "off", NULL };
    static const struct wx_world worlds[] = {
        { "passes", cuda, cases, FERRY_TEST_COUNT(cases) },
        { "no begin", cuda, begins, 1 },
        { "no end", cuda, ends, 1 },
        { "no instance", cuda, instantiates, 1 },
        { "no launch", cuda, launched, 1 },
        { "no later launch", cuda, later, 1 },
        { "no run", cuda, run, 1 },
    };
    const char *backends = getenv("FERRY_TEST_BACKENDS");

    if (!backends || !strstr(backends, "cuda(double)")) {
        puts("ferry-test: cuda graphs: the doubles are not built");
        return 77;
    }
    return wx_main(argc, argv, "cuda graphs (double)", worlds, FERRY_TEST_COUNT(worlds));
}
