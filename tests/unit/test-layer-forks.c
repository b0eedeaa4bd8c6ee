/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer-fixture.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Layers of Caffe's forks, and states, for which Caffe has no numbers. The expected values were
 * computed by hand.
 */

/* ---- forks ----------------------------------------------------------------------------------- */

static void bn_scales_and_shifts_and_normalizes_first_in_mode_learn(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 2 dim: 1 dim: 2") "layer { name: 'l' type: 'BN' "
                                                              "bottom: 'x' top: 'y' bn_param { "
                                                              "bn_mode: INFERENCE } }");

    FEED(net, "x", 1, 3, 5, 9);
    PARAM(net, 0, 2, 10);
    PARAM(net, 1, 1, -1);
    lx_run(net);
    HOLDS(net, "y", 3, 7, 49, 89);
    ferry_net_close(net);
    net = lx_open(X("dim: 1 dim: 2 dim: 1 dim: 2") "layer { name: 'l' type: 'BN' bottom: 'x' top: "
                                                   "'x' bn_param { bn_mode: LEARN } }");
    FEED(net, "x", 1, 3, 5, 9);
    PARAM(net, 0, 2, 10);
    PARAM(net, 1, 1, -1);
    lx_run(net);
    HOLDS(net, "x", -1, 3, -11, 9);
    ferry_net_close(net);
}

static void axpy_scales_each_channel_and_adds(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 2 dim: 1 dim: 1") U("dim: 1 dim: 2 dim: 1 dim: 2") V(
        "dim: 1 dim: 2 dim: 1 dim: 2") "layer { name: 'l' type: 'Axpy' bottom: 'x' bottom: 'u' "
                                       "bottom: 'v' top: 'y' }");

    FEED(net, "x", 2, 10);
    FEED(net, "u", 1, 2, 3, 4);
    FEED(net, "v", 5, 6, 7, 8);
    lx_run(net);
    HOLDS(net, "y", 7, 10, 37, 48);
    ferry_net_close(net);
}

static void upsample_repeats_elements_or_unpools_with_a_mask(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 1 dim: 1 dim: 2") "layer { name: 'l' type: 'Upsample' "
                                                              "bottom: 'x' top: 'y' "
                                                              "upsample_param { scale: 3 } }");

    FEED(net, "x", 1, 2);
    lx_run(net);
    HOLDS(net, "y", 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2);
    ferry_net_close(net);
    net = lx_open(X("dim: 1 dim: 2 dim: 1 dim: 1")
                      U("dim: 1 dim: 2 dim: 1 dim: 1") "layer { name: 'l' type: 'Upsample' bottom: "
                                                       "'x' bottom: 'u' top: 'y' upsample_param { "
                                                       "scale: 2 } }");
    FEED(net, "x", 7, 8);
    FEED(net, "u", 3, 1);
    lx_run(net);
    HOLDS(net, "y", 0, 0, 0, 7, 0, 8, 0, 0);
    FEED(net, "u", 4, 1);
    CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "its mask points at 4 in a plane of 4"));
    ferry_net_close(net);
}

static void interp_aligns_corners(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 1 dim: 2 dim: 2") "layer { name: 'l' type: 'Interp' "
                                                              "bottom: 'x' top: 'y' interp_param "
                                                              "{ height: 3 width: 3 } }");

    FEED(net, "x", 0, 2, 4, 6);
    lx_run(net);
    HOLDS(net, "y", 0, 1, 2, 2, 3, 4, 4, 5, 6);
    ferry_net_close(net);
    net = lx_open(X("dim: 1 dim: 1 dim: 3 dim: 3") "layer { name: 'l' type: 'Interp' bottom: 'x' "
                                                   "top: 'y' interp_param { pad_beg: -1 "
                                                   "zoom_factor: 2 } }");
    FEED(net, "x", 9, 9, 9, 9, 0, 2, 9, 4, 6);
    lx_run(net);
    HOLDS(net, "y", 0, 1, 2, 2, 3, 4, 4, 5, 6);
    ferry_net_close(net);
}

static void an_average_without_padding_counts_elements_in_the_image(void)
{
    ferry_net *net = lx_open(X(
        "dim: 1 dim: 1 dim: 2 dim: 2") "layer { name: 'l' type: 'Pooling' bottom: 'x' top: 'y' "
                                       "pooling_param { pool: AVE_EXC_PAD kernel_size: 3 pad: 1 } "
                                       "}");

    FEED(net, "x", 1, 2, 3, 6);
    lx_run(net);
    HOLDS(net, "y", 3, 3, 3, 3);
    ferry_net_close(net);
}

/*
 * Windows over one column, over rows and across: the last window begins after the image, as in
 * Caffe.
 */
static void the_last_pooling_window_may_start_past_the_image(void)
{
    ferry_net *net = lx_open(
        X("dim: 1 dim: 1 dim: 2 dim: 4") "layer { name: 'm' type: 'Pooling' bottom: 'x' top: 'y' "
                                         "top: "
                                         "'mask' pooling_param { kernel_size: 1 stride: 2 } }\n"
                                         "layer { name: 'a' type: 'Pooling' bottom: 'x' top: 'z' "
                                         "pooling_param { pool: AVE kernel_size: 1 stride: 2 } }");
    const float *z;

    FEED(net, "x", 1, 2, 3, 4, 5, 6, 7, 8);
    lx_run(net);
    HOLDS(net, "y", 1, 3, -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX);
    HOLDS(net, "mask", 0, 2, -1, -1, -1, -1);
    z = ferry_blob_host_data(ferry_net_blob_find(net, "z"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(z);
    CU_ASSERT(z[0] == 1 && z[1] == 3);
    CU_ASSERT(isnan(z[2]) && isnan(z[3]) && isnan(z[4]) && isnan(z[5])); /* 0 / 0 */
    ferry_net_close(net);
}

/* ---- Caffe's that have no case --------------------------------------------------------------- */

static void dummy_data_and_parameter_layers_fill_their_tops(void)
{
    ferry_net *net = lx_open("layer { name: 'd' type: 'DummyData' top: 'a' top: 'b' "
                             "dummy_data_param { shape { dim: 2 } shape { dim: 3 } data_filler { "
                             "value: 4 } data_filler { type: 'uniform' min: 2 max: 3 } } }\n"
                             "layer { name: 'l' type: 'Parameter' top: 'y' parameter_param { shape "
                             "{ dim: 2 dim: 1 } } }");
    const float *b;

    PARAM(net, 0, 5, 6);
    lx_run(net);
    HOLDS(net, "a", 4, 4);
    HOLDS(net, "y", 5, 6);
    b = ferry_blob_host_data(ferry_net_blob_find(net, "b"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(b[i] >= 2 && b[i] < 3);
    CU_ASSERT(b[0] != b[1] && b[1] != b[2]);
    ferry_net_close(net);
}

/* Neither the next blob nor the next forward repeats an earlier starting point. */
static void random_fillers_continue_their_sequence(void)
{
    ferry_net *net = lx_open("layer { name: 'd' type: 'DummyData' top: 'a' top: 'b' "
                             "dummy_data_param { shape { dim: 4 } data_filler { type: 'gaussian' "
                             "std: 2 } } }\n");
    float first[4];

    lx_run(net);
    memcpy(first, ferry_blob_host_data(ferry_net_blob_find(net, "a")), sizeof(first));
    CU_ASSERT_NOT_EQUAL(
        memcmp(first, ferry_blob_host_data(ferry_net_blob_find(net, "b")), sizeof(first)), 0);
    lx_run(net);
    CU_ASSERT_NOT_EQUAL(
        memcmp(first, ferry_blob_host_data(ferry_net_blob_find(net, "a")), sizeof(first)), 0);
    ferry_net_close(net);
}

/* Later layers are reshaped within the forward pass, to no elements and back. */
static void mvn_has_a_top_with_four_axes(void)
{
    static const struct {
        const char *shape;
        int64_t rows; /* of one element each, which is its own mean */
    } cases[] = { { "dim: 3", 3 }, { "dim: 3 dim: 2", 6 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        ferry_net *net;
        const ferry_blob *y;

        snprintf(text, sizeof text,
                 X("%s") "layer { name: 'm' type: 'MVN' bottom: 'x' top: 'y' }\n", cases[i].shape);
        net = lx_open(text);
        lx_set(ferry_net_blob_find(net, "x"), (const float[]){ 1, 2, 3, 4, 5, 6 });
        lx_run(net);
        y = ferry_net_blob_find(net, "y");
        CU_ASSERT_EQUAL(ferry_blob_rank(y), 4);
        CU_ASSERT_EQUAL(ferry_blob_dim(y, 0), 3);
        CU_ASSERT(lx_holds(net, "y", cases[i].rows, (const float[6]){ 0 }));
        ferry_net_close(net);
    }
}

static void a_filter_that_selects_nothing_has_an_empty_top(void)
{
    ferry_net *net =
        lx_open(X("dim: 3 dim: 2")
                    U("dim: 3") "layer { name: 'f' type: 'Filter' bottom: 'x' bottom: 'u' top: "
                                "'c' } layer { name: 'l' type: 'ReLU' bottom: 'c' top: 'y' }");

    FEED(net, "x", 1, -2, 3, 4, -5, 6);
    FEED(net, "u", 0, 0, 0);
    lx_run(net);
    CU_ASSERT_EQUAL(ferry_blob_dim(ferry_net_blob_find(net, "y"), 0), 0);
    FEED(net, "u", 0, 1, 1);
    lx_run(net);
    HOLDS(net, "y", 3, 4, 0, 6);
    FEED(net, "u", -1, 0, 0);
    lx_run(net);
    HOLDS(net, "y", 1, 0);
    ferry_net_close(net);
}

#define LSTM(more)                                                                       \
    "layer { name: 'l' type: 'LSTM' bottom: 'x' bottom: 'u' " more " recurrent_param { " \
    "num_output: 1 weight_filler { type: 'constant' value: 0.5 } "                       \
    "bias_filler { type: 'constant' value: 0.25 }"

/* Two steps in one forward equal one step in each of two, unless cont resets the state. */
static void a_recurrent_state_is_kept_until_cont_is_0(void)
{
    ferry_net *both = lx_open(X("dim: 2 dim: 1 dim: 1") U("dim: 2 dim: 1") LSTM("top: 'y'") " } }");
    ferry_net *single =
        lx_open(X("dim: 1 dim: 1 dim: 1") U("dim: 1 dim: 1") LSTM("top: 'y'") " } }");
    float steps[2];

    FEED(both, "x", 0.5f, -1);
    FEED(both, "u", 0, 1);
    lx_run(both);
    memcpy(steps, ferry_blob_host_data(ferry_net_blob_find(both, "y")), sizeof(steps));
    FEED(single, "x", 0.5f);
    FEED(single, "u", 0);
    lx_run(single);
    HOLDS(single, "y", steps[0]);
    FEED(single, "x", -1);
    FEED(single, "u", 1);
    lx_run(single);
    HOLDS(single, "y", steps[1]);
    FEED(single, "x", 0.5f);
    FEED(single, "u", 0);
    lx_run(single);
    HOLDS(single, "y", steps[0]);
    CU_ASSERT(fabsf(steps[0] - steps[1]) > 1e-3f);
    ferry_net_close(single);
    ferry_net_close(both);
}

static void expose_hidden_reads_and_writes_states_through_blobs(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 1 dim: 1") U(
        "dim: 1 dim: 1") "layer { name: 's' type: 'Input' top: 'h' top: 'c' input_param { shape { "
                         "dim: 1 dim: 1 "
                         "dim: 1 } } }\n" LSTM("bottom: 'h' bottom: 'c' top: 'y' top: 'hT' top: "
                                               "'cT'") " expose_hidden: true } }");
    double gate = 0.5 * 1 + 0.25 + 0.5 * 0.3, s = 1 / (1 + exp(-gate));
    double c = s * 0.6 + s * tanh(gate), h = s * tanh(c);

    for (int round = 0; round < 2; round++) {
        FEED(net, "x", 1);
        FEED(net, "u", 1);
        FEED(net, "h", 0.3f);
        FEED(net, "c", 0.6f);
        lx_run(net);
        HOLDS(net, "y", (float)h);
        HOLDS(net, "hT", (float)h);
        HOLDS(net, "cT", (float)c);
    }
    ferry_net_close(net);
}

static void lstm_unit_computes_one_step_of_an_lstm(void)
{
    ferry_net *net = lx_open(X("dim: 1 dim: 2 dim: 1") U("dim: 1 dim: 2 dim: 4")
                                 V("dim: 1 dim: 2") "layer { name: 'l' type: 'LSTMUnit' bottom: "
                                                    "'x' bottom: 'u' bottom: 'v' top: 'c' top: "
                                                    "'h' }");
    double s1 = 1 / (1 + exp(-1.0)), c0 = 0.5 * 2 + s1 * tanh(0.5), c1 = s1 * tanh(0.5);

    FEED(net, "x", 2, 2);
    FEED(net, "u", 1, 0, 0, 0.5f, 1, 0, 0, 0.5f);
    FEED(net, "v", 1, 0);
    lx_run(net);
    HOLDS(net, "c", (float)c0, (float)c1);
    HOLDS(net, "h", (float)(0.5 * tanh(c0)), (float)(0.5 * tanh(c1)));
    ferry_net_close(net);
}

static void a_label_that_is_not_a_class_is_an_error_that_names_it(void)
{
    static const char *const types[] = { "SoftmaxWithLoss", "HingeLoss", "MultinomialLogisticLoss",
                                         "Accuracy" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(types); i++)
        for (int k = 0; k < 3; k++) {
            char text[512];
            ferry_net *net;

            snprintf(text, sizeof(text),
                     "%s%slayer { name: 'l' type: '%s' bottom: 'x' bottom: 'u' "
                     "top: 'y' }",
                     X("dim: 1 dim: 3"), U("dim: 1"), types[i]);
            net = lx_open(text);
            FEED(net, "x", 0.2f, 0.5f, 0.3f);
            FEED(net, "u", k == 0 ? 3 : k == 1 ? -1 : NAN);
            CU_ASSERT_EQUAL(ferry_net_forward(net, NULL), FERRY_EINVAL);
            CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "there are 3 classes"));
            ferry_net_close(net);
        }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(bn_scales_and_shifts_and_normalizes_first_in_mode_learn),
    FERRY_TEST(axpy_scales_each_channel_and_adds),
    FERRY_TEST(upsample_repeats_elements_or_unpools_with_a_mask),
    FERRY_TEST(interp_aligns_corners),
    FERRY_TEST(an_average_without_padding_counts_elements_in_the_image),
    FERRY_TEST(the_last_pooling_window_may_start_past_the_image),
    FERRY_TEST(dummy_data_and_parameter_layers_fill_their_tops),
    FERRY_TEST(random_fillers_continue_their_sequence),
    FERRY_TEST(mvn_has_a_top_with_four_axes),
    FERRY_TEST(a_filter_that_selects_nothing_has_an_empty_top),
    FERRY_TEST(a_recurrent_state_is_kept_until_cont_is_0),
    FERRY_TEST(expose_hidden_reads_and_writes_states_through_blobs),
    FERRY_TEST(lstm_unit_computes_one_step_of_an_lstm),
    FERRY_TEST(a_label_that_is_not_a_class_is_an_error_that_names_it),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "layer forks", cases, FERRY_TEST_COUNT(cases));
}
