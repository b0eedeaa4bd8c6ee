/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "cuda-double.h"
#include "world.h"

#include <ferry/layer.h>
#include <ferry/net.h>
#include <ferry/net_info.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Passes of a net as CUDA graphs, on the doubles: recorded in the second pass, one launch from the
 * third on; passes that differ from the one before; and failures of the calls for graphs.
 */

#define UNKNOWN 999

#define INPUT                                                                                    \
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 6 dim: " \
    "6 } } }\n"
/* The layer "a", whose bottom is given. */
#define CONVOLUTION(bottom)                                                                    \
    "layer { name: 'a' type: 'Convolution' bottom: '" bottom "' top: 'a' convolution_param { " \
    "num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
#define POOLING                                                                         \
    "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' pooling_param { pool: AVE " \
    "global_pooling: true } }\n"
#define PRODUCT(bottom)                                                     \
    "layer { name: 'b' type: 'InnerProduct' bottom: '" bottom "' top: 'b' " \
    "inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }\n"
#define SOFTMAX "layer { name: 's' type: 'Softmax' bottom: 'b' top: 'y' }\n"

static const char text[] = INPUT CONVOLUTION("x") POOLING PRODUCT("p") SOFTMAX;

#define VALUES 5

static const struct cuda_double_control *control;

static ferry_net *open_as(const ferry_net_options *options)
{
    ferry_net_options o = *options;
    ferry_net *net = NULL;

    o.struct_size = sizeof o;
    o.text_size = strlen(o.text);
    FX_OK(ferry_net_open(wx_dev(0), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    control = cuda_double_find();
    CU_ASSERT_PTR_NOT_NULL_FATAL(control);
    return net;
}

static ferry_net *open_net(void)
{
    return open_as(&(ferry_net_options){ .text = text });
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
static bool is_right_as(ferry_net *net, const ferry_net_options *options, int seed)
{
    float got[VALUES], wanted[VALUES];
    ferry_net *fresh = open_as(options);

    pass(net, seed, got);
    pass(fresh, seed, wanted);
    ferry_net_close(fresh);
    return !memcmp(got, wanted, sizeof got) && got[0] > 0;
}

static bool is_right(ferry_net *net, int seed)
{
    return is_right_as(net, &(ferry_net_options){ .text = text }, seed);
}

/* Launches of kernels, calls of cuDNN that compute, launches of graphs. */
static unsigned launches(void)
{
    return control->calls("cuLaunchKernel") + control->calls("cudnnConvolutionForward") +
           control->calls("cudnnAddTensor");
}

/* ---- lists ---- */

static void each_pass_from_the_third_on_is_one_graph_launch(void)
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

static void a_replayed_pass_uses_new_weights_and_shapes(void)
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

/* ---- passes that are not one graph ---- */

/*
 * The graphs that a pass launches; the pass must be right. The first pass of another net launches
 * none.
 */
static unsigned graphs_as(ferry_net *net, const ferry_net_options *options, int seed)
{
    unsigned before = control->calls("cudaGraphLaunch");

    CU_ASSERT(is_right_as(net, options, seed));
    return control->calls("cudaGraphLaunch") - before;
}

static unsigned graphs(ferry_net *net, int seed)
{
    return graphs_as(net, &(ferry_net_options){ .text = text }, seed);
}

static int like_bottom(ferry_layer *layer)
{
    return ferry_blob_reshape_like(ferry_layer_top_at(layer, 0), ferry_layer_bottom_at(layer, 0));
}

static int halve(ferry_layer *layer)
{
    const float *x = ferry_blob_host_data(ferry_layer_bottom_at(layer, 0));
    float *y = ferry_blob_overwrite_host_data(ferry_layer_top_at(layer, 0));
    int64_t n = ferry_blob_element_count(ferry_layer_top_at(layer, 0));

    for (int64_t i = 0; x && y && i < n; i++)
        y[i] = x[i] / 2;
    return x && y ? 0 : FERRY_EDEVICE;
}

/* One, two or three copies of the image, according to its first element. */
static int repeat(ferry_layer *layer)
{
    const ferry_blob *bottom = ferry_layer_bottom_at(layer, 0);
    ferry_blob *top = ferry_layer_top_at(layer, 0);
    const float *x = ferry_blob_host_data(bottom);
    size_t size = (size_t)ferry_blob_element_count(bottom);
    int64_t copies = x ? 1 + (int64_t)(100 * fabsf(x[0])) % 3 : 1;
    int err = ferry_blob_reshape4(top, copies, 3, 6, 6);
    float *y = err ? NULL : ferry_blob_overwrite_host_data(top);

    for (int64_t i = 0; x && y && i < copies; i++)
        memcpy(y + (size_t)i * size, x, size * sizeof *x);
    return x && y ? 0 : FERRY_EDEVICE;
}

static const ferry_layer_type host_types[] = {
    { .struct_size = sizeof(ferry_layer_type),
      .name = "Halved",
      .min_bottoms = 1,
      .max_bottoms = 1,
      .min_tops = 1,
      .max_tops = 1,
      .reshape = like_bottom,
      .forward = halve },
    { .struct_size = sizeof(ferry_layer_type),
      .name = "Repeated",
      .min_bottoms = 1,
      .max_bottoms = 1,
      .min_tops = 1,
      .max_tops = 1,
      .flags = FERRY_LAYER_RESHAPES,
      .reshape = like_bottom,
      .forward = repeat },
};

static void a_layer_on_the_host_divides_a_pass_into_two_graphs(void)
{
    static const ferry_net_options divided = {
        .text = INPUT CONVOLUTION("x") POOLING
        "layer { name: 'h' type: 'Halved' bottom: 'p' top: 'h' }\n" PRODUCT("h") SOFTMAX
    };
    ferry_net *net;

    wx_begin();
    FX_OK(ferry_layer_register(&host_types[0]));
    net = open_as(&divided);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(graphs_as(net, &divided, i), i > 0 ? 2 : 0);
    ferry_net_close(net);
    CU_ASSERT_EQUAL(control->live_graphs(), 0);
    wx_end();
}

static void shapes_that_depend_on_data_are_computed_in_each_pass(void)
{
    static const ferry_net_options decided = {
        .text = INPUT "layer { name: 'r' type: 'Repeated' bottom: 'x' top: 'r' }\n" CONVOLUTION("r")
            POOLING PRODUCT("p") SOFTMAX
    };
    int64_t shapes[7] = { 0 };
    bool differ = false;
    ferry_net *net;

    wx_begin();
    FX_OK(ferry_layer_register(&host_types[1]));
    net = open_as(&decided);
    for (int i = 0; i < 7; i++) {
        CU_ASSERT(is_right_as(net, &decided, i));
        shapes[i] = ferry_blob_dim(ferry_net_output_at(net, 0), 0);
        differ |= shapes[i] != shapes[0];
    }
    CU_ASSERT(differ);
    ferry_net_close(net);
    CU_ASSERT_EQUAL(control->live_graphs(), 0);
    wx_end();
}

/* Whether the next three passes are plain, recorded and replayed. */
static void begins_again(ferry_net *net)
{
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(graphs(net, i), i > 0);
}

static void parameters_that_were_evicted_are_read_at_their_new_place(void)
{
    ferry_net *net;
    ferry_ref before;

    wx_begin();
    net = open_net();
    begins_again(net);
    before = ferry_blob_mutable_device_data(ferry_net_param_at(net, 3, 0));
    for (int layer = 0; layer < ferry_net_layer_count(net); layer++)
        for (int i = 0; i < ferry_net_param_count(net, layer); i++)
            FX_OK(ferry_memory_allow_eviction(
                ferry_blob_data_memory(ferry_net_param_at(net, layer, i))));
    FX_OK(ferry_device_make_room(wx_dev(0), 1 << 20));
    begins_again(net);
    CU_ASSERT_PTR_NOT_EQUAL(before.handle,
                            ferry_blob_device_data(ferry_net_param_at(net, 3, 0)).handle);
    FX_OK(ferry_device_trim(wx_dev(0)));
    CU_ASSERT(is_right(net, 5));
    ferry_net_close(net);
    wx_end();
}

static void alternating_inputs_are_both_read(void)
{
    static const int64_t shape[] = { 1, 3, 6, 6 };
    ferry_blob *other[2];
    ferry_net *net;

    wx_begin();
    net = open_net();
    for (int i = 0; i < 2; i++)
        FX_OK(ferry_blob_create(wx_dev(0), FERRY_F32, shape, 4, &other[i]));
    begins_again(net);
    for (int i = 0; i < 4; i++) {
        FX_OK(ferry_blob_share_data(ferry_net_input_at(net, 0), other[i % 2]));
        CU_ASSERT_EQUAL(graphs(net, i), 0);
    }
    CU_ASSERT_EQUAL(graphs(net, 4), 1); /* as the pass before */
    CU_ASSERT_EQUAL(graphs(net, 5), 1);
    ferry_net_close(net);
    for (int i = 0; i < 2; i++)
        ferry_blob_destroy(other[i]);
    wx_end();
}

/* Blobs that nothing reads after the pass are kept for debugging and for parts of a pass. */
static const char *const all[] = { "*" };
static const ferry_net_options kept = { .text = text, .keep = all, .keep_count = 1 };

static void a_pass_that_is_measured_or_debugged_has_no_graph(void)
{
    ferry_net *net;

    wx_begin();
    net = open_as(&kept);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(graphs_as(net, &kept, i), i > 0);
    FX_OK(ferry_net_set_measuring(net, FERRY_NET_MEASURE_HOST));
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(graphs_as(net, &kept, i), 0);
    FX_OK(ferry_net_set_measuring(net, FERRY_NET_MEASURE_OFF));
    FX_OK(ferry_net_set_debug(net, true));
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(graphs_as(net, &kept, i), 0);
    FX_OK(ferry_net_set_debug(net, false));
    for (int i = 0; i < 3; i++)
        CU_ASSERT(is_right_as(net, &kept, i));
    CU_ASSERT_EQUAL(graphs_as(net, &kept, 3), 1);
    ferry_net_close(net);
    wx_end();
}

static void a_part_of_a_pass_has_no_graph(void)
{
    unsigned before;
    ferry_net *net;

    wx_begin();
    net = open_as(&kept);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(graphs_as(net, &kept, i), i > 0);
    before = control->calls("cudaGraphLaunch");
    FX_OK(ferry_net_forward_range(net, "b", "s", NULL));
    CU_ASSERT_EQUAL(control->calls("cudaGraphLaunch"), before);
    CU_ASSERT(is_right_as(net, &kept, 5));
    ferry_net_close(net);
    wx_end();
}

static void random_numbers_are_drawn_in_each_pass(void)
{
    static const ferry_net_options dropping = {
        .text = INPUT PRODUCT("x") "layer { name: 'd' type: 'Dropout' bottom: 'b' top: 'y' }\n",
        .phase = FERRY_PHASE_TRAIN
    };
    float y[8][VALUES];
    bool differ = false;
    unsigned before;
    ferry_net *net;

    wx_begin();
    net = open_as(&dropping);
    before = control->calls("cudaGraphLaunch");
    for (int i = 0; i < 8; i++) {
        pass(net, 1, y[i]);
        differ |= memcmp(y[i], y[0], sizeof y[i]) != 0;
    }
    CU_ASSERT(differ);
    CU_ASSERT_EQUAL(control->calls("cudaGraphLaunch"), before);
    ferry_net_close(net);
    wx_end();
}

/* ---- threads ---- */

#define THREADS 2
#define PASSES  12

struct passing {
    ferry_net *net;
    float y[PASSES][VALUES];
    int errors;
};

/* As `pass`, without assertions, which are the main thread's. */
static void *passes_of_a_thread(void *argument)
{
    struct passing *p = argument;
    ferry_blob *input = ferry_net_input_at(p->net, 0);

    for (int at = 0; at < PASSES; at++) {
        float *x = ferry_blob_overwrite_host_data(input);
        const float *y;

        for (int64_t i = 0; x && i < ferry_blob_element_count(input); i++)
            x[i] = (float)((i + at) % 11) / 5 - (float)at / 3;
        p->errors += !x || ferry_net_forward(p->net, NULL) != 0;
        y = ferry_blob_host_data(ferry_net_output_at(p->net, 0));
        p->errors += !y;
        if (y)
            memcpy(p->y[at], y, sizeof p->y[at]);
    }
    return NULL;
}

static void captures_of_two_threads_stay_separate(void)
{
    struct passing passing[THREADS];
    pthread_t threads[THREADS];
    float wanted[VALUES];

    wx_begin();
    for (int i = 0; i < THREADS; i++) {
        passing[i] = (struct passing){ .net = open_net() };
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, passes_of_a_thread, &passing[i]),
                              0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(passing[i].errors, 0);
        ferry_net_close(passing[i].net);
    }
    for (int at = 0; at < PASSES; at++) {
        ferry_net *fresh = open_net();

        pass(fresh, at, wanted);
        ferry_net_close(fresh);
        for (int i = 0; i < THREADS; i++)
            CU_ASSERT(!memcmp(passing[i].y[at], wanted, sizeof wanted));
    }
    wx_end();
}

/* ---- failures ---- */

/* The call fails in pass number `when`, from 0: that pass and later ones are right and plain. */
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

static void a_failed_begin_of_a_capture_falls_back_to_launches(void)
{
    fails_in("cudaStreamBeginCapture", 1);
}

static void a_failed_end_of_a_capture_falls_back_to_launches(void)
{
    fails_in("cudaStreamEndCapture", 1);
}

static void a_failed_graph_instantiation_falls_back_to_launches(void)
{
    fails_in("cudaGraphInstantiate", 1);
}

static void a_failed_graph_launch_falls_back_to_launches(void)
{
    fails_in("cudaGraphLaunch", 1);
}

static void a_later_failed_graph_launch_falls_back_to_launches(void)
{
    fails_in("cudaGraphLaunch", 3);
}

static void a_failed_run_during_capture_falls_back_to_launches(void)
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
    FERRY_TEST(each_pass_from_the_third_on_is_one_graph_launch),
    FERRY_TEST(a_replayed_pass_uses_new_weights_and_shapes),
    FERRY_TEST(a_layer_on_the_host_divides_a_pass_into_two_graphs),
    FERRY_TEST(shapes_that_depend_on_data_are_computed_in_each_pass),
    FERRY_TEST(parameters_that_were_evicted_are_read_at_their_new_place),
    FERRY_TEST(alternating_inputs_are_both_read),
    FERRY_TEST(a_pass_that_is_measured_or_debugged_has_no_graph),
    FERRY_TEST(a_part_of_a_pass_has_no_graph),
    FERRY_TEST(random_numbers_are_drawn_in_each_pass),
    FERRY_TEST(captures_of_two_threads_stay_separate),
    FERRY_TEST(a_pass_of_squeezenet_is_one_launch),
};
static const ferry_test_case begins[] = {
    FERRY_TEST(a_failed_begin_of_a_capture_falls_back_to_launches)
};
static const ferry_test_case ends[] = {
    FERRY_TEST(a_failed_end_of_a_capture_falls_back_to_launches)
};
static const ferry_test_case instantiates[] = {
    FERRY_TEST(a_failed_graph_instantiation_falls_back_to_launches)
};
static const ferry_test_case launched[] = {
    FERRY_TEST(a_failed_graph_launch_falls_back_to_launches)
};
static const ferry_test_case later[] = {
    FERRY_TEST(a_later_failed_graph_launch_falls_back_to_launches)
};
static const ferry_test_case run[] = {
    FERRY_TEST(a_failed_run_during_capture_falls_back_to_launches)
};

/* Each set is a world, because a failure turns graphs off for a device. */
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
