/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "net-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Nets backward: the layers that run, the flow of gradients, and the results of the first training
 * iteration.
 */

#define INPUT(name, shape)                                                                        \
    "layer { name: '" name "' type: 'Input' top: '" name "' input_param { shape { " shape " } } " \
    "}\n"
#define IP(name, bottom, more)                                                                 \
    "layer { name: '" name "' type: 'InnerProduct' bottom: '" bottom "' top: '" name "' " more \
    " inner_product_param { num_output: 2 weight_filler { type: 'gaussian' std: 1 } } }\n"

static ferry_net *open_text(const char *text, ferry_phase phase, int backward)
{
    ferry_net_options o = { .struct_size = sizeof(o), .text = text, .phase = phase };
    ferry_net *net = NULL;

    o.text_size = strlen(text);
    o.backward = backward;
    if (ferry_net_open(fx_device(), "net", &o, &net))
        printf("     %s\n", ferry_last_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

/* Numbers of either sign without a pattern, by index. */
static void fill(ferry_blob *b, unsigned seed)
{
    float *x = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
}

static double diff_at(ferry_net *net, const char *blob, int64_t i)
{
    const float *diff = ferry_blob_host_diff(ferry_net_blob_find(net, blob));

    CU_ASSERT_PTR_NOT_NULL_FATAL(diff);
    return (double)diff[i];
}

static bool needs(const ferry_net *net, const char *layer)
{
    return ferry_layer_needs_backward(ferry_net_layer_at(net, nd_layer(net, layer)));
}

/* ---- layers that run ------------------------------------------------------------------------- */

/* The layers that Caffe's Net selects for such nets. */
static void backward_runs_the_layers_between_learned_parameters_and_a_loss(void)
{
    static const char text[] = INPUT("x", "dim: 2 dim: 3") INPUT("t", "dim: 2 dim: 2")
        IP("a", "x", "param { lr_mult: 0 } param { lr_mult: 0 }") IP("b", "a", "")
            IP("c", "b",
               "") "layer { name: 'l' type: 'EuclideanLoss' bottom: 'c' bottom: 't' top: 'l' }\n"
                   "layer { name: 'most' type: 'ArgMax' bottom: 'b' top: 'm' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);

    CU_ASSERT_FALSE(needs(net, "x"));
    CU_ASSERT_FALSE(needs(net, "a"));
    CU_ASSERT_TRUE(needs(net, "b"));
    CU_ASSERT_TRUE(needs(net, "b_b_0_split"));
    CU_ASSERT_TRUE(needs(net, "c"));
    CU_ASSERT_TRUE(needs(net, "l"));
    CU_ASSERT_FALSE(needs(net, "most"));
    CU_ASSERT_FALSE(ferry_layer_propagates(ferry_net_layer_at(net, nd_layer(net, "b")), 0));
    CU_ASSERT_FALSE(ferry_layer_propagates(ferry_net_layer_at(net, nd_layer(net, "l")), 1));
    ferry_net_close(net);
    fx_end();
}

/* Caffe gives the weight to the top that it adds. */
static void a_loss_without_a_top_has_the_given_weight(void)
{
    static const char *const weights[] = { "", "loss_weight: 1", "loss_weight: 3",
                                           "loss_weight: 0" };
    static const double factors[] = { 1, 1, 3, 0 };

    for (size_t i = 0; i < FERRY_TEST_COUNT(weights); i++) {
        double loss = -1, sum = 0;
        char text[1024];
        ferry_net *net;

        snprintf(text, sizeof(text),
                 INPUT("x", "dim: 2 dim: 3") INPUT("t", "dim: 2 dim: 2")
                     IP("a", "x", "") "layer { name: 'l' type: 'EuclideanLoss' bottom: 'a' "
                                      "bottom: 't' %s }\n",
                 weights[i]);
        net = open_text(text, FERRY_PHASE_TRAIN, 0);
        CU_ASSERT_EQUAL(needs(net, "l"), factors[i] != 0);
        fill(ferry_net_blob_find(net, "x"), 1);
        FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "t"), 0));
        FX_OK(ferry_net_forward(net, &loss));
        FX_OK(ferry_blob_sumsq_data(ferry_net_blob_find(net, "a"), &sum));
        CU_ASSERT_DOUBLE_EQUAL(loss, factors[i] * sum / 4, 1e-5 * sum);
        if (factors[i] != 0) {
            const float *a = ferry_blob_host_data(ferry_net_blob_find(net, "a"));

            FX_OK(ferry_net_backward(net));
            CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "a", 1), factors[i] * (double)a[1] / 2, 1e-5);
        }
        ferry_net_close(net);
        fx_end();
    }
}

static void propagate_down_false_stops_the_backward_pass(void)
{
    static const char text[] =
        INPUT("x", "dim: 2 dim: 3") INPUT("t", "dim: 2 dim: 2") IP("a", "x", "")
            IP("b", "a", "propagate_down: false") "layer { name: 'l' type: 'EuclideanLoss' bottom: "
                                                  "'b' bottom: 't' top: 'l' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);

    CU_ASSERT_FALSE(needs(net, "a"));
    CU_ASSERT_TRUE(needs(net, "b"));
    fill(ferry_net_blob_find(net, "x"), 1);
    fill(ferry_net_blob_find(net, "t"), 2);
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    CU_ASSERT_EQUAL(ferry_memory_head(ferry_blob_diff_memory(ferry_net_blob_find(net, "a"))),
                    FERRY_HEAD_UNINITIALIZED);
    ferry_net_close(net);
    fx_end();
}

static void force_backward_stops_at_labels_and_logs_it(void)
{
    static const char text[] = "force_backward: true\n" INPUT("x", "dim: 2 dim: 3") INPUT(
        "t",
        "dim: 2") "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'x' bottom: 't' top: 'l' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    const ferry_layer *loss = ferry_net_layer_at(net, nd_layer(net, "l"));

    CU_ASSERT_TRUE(ferry_layer_propagates(loss, 0));
    CU_ASSERT_FALSE(ferry_layer_propagates(loss, 1));
    fill(ferry_net_blob_find(net, "x"), 1);
    FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "t"), 1));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    ferry_net_close(net);
    fx_end();
}

static void a_gradient_for_labels_is_an_error_with_the_message_of_caffe(void)
{
    static const struct {
        const char *type, *said;
    } losses[] = {
        { "SoftmaxWithLoss", "SoftmaxWithLoss Layer cannot backpropagate to label inputs." },
        { "HingeLoss", "HingeLoss Layer cannot backpropagate to label inputs." },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(losses); i++) {
        char text[2048];
        ferry_net *net;

        snprintf(text, sizeof(text),
                 INPUT("x", "dim: 2 dim: 3")
                     IP("a", "x",
                        "") "layer { name: 'most' type: 'Reduction' "
                            "bottom: 'a' top: 'm' reduction_param { axis: 1 operation: SUMSQ } }\n"
                            "layer { name: 'p' type: 'Power' bottom: 'm' top: 'p' power_param { "
                            "scale: 0 } }\n"
                            "layer { name: 'l' type: '%s' bottom: 'x' bottom: 'p' top: 'l' }\n",
                 losses[i].type);
        net = open_text(text, FERRY_PHASE_TRAIN, 0);
        fill(ferry_net_blob_find(net, "x"), 1);
        FX_OK(ferry_net_forward(net, NULL));
        FX_FAILS(FERRY_EUNSUPPORTED, ferry_net_backward(net));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), losses[i].said));
        CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "layer \"l\""));
        ferry_net_close(net);
        fx_end();
    }
}

static void backward_requires_the_option_and_a_forward_of_the_same_shapes(void)
{
    static const char text[] = INPUT("x", "dim: 2 dim: 3") INPUT("t", "dim: 2 dim: 2")
        IP("a", "x",
           "") "layer { name: 'l' type: 'EuclideanLoss' bottom: 'a' bottom: 't' top: 'l' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TEST, 0);

    FX_FAILS(FERRY_EINVAL, ferry_net_backward(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_net_clear_param_diffs(NULL));
    FX_FAILS(FERRY_EINVAL, ferry_net_backward(net));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "`backward`"));
    ferry_net_close(net);
    net = open_text(text, FERRY_PHASE_TEST, 1);
    fill(ferry_net_blob_find(net, "x"), 1);
    fill(ferry_net_blob_find(net, "t"), 2);
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    FX_OK(ferry_blob_reshape(ferry_net_blob_find(net, "x"), (int64_t[]){ 1, 3 }, 2, NULL));
    FX_OK(ferry_blob_reshape(ferry_net_blob_find(net, "t"), (int64_t[]){ 1, 2 }, 2, NULL));
    FX_FAILS(FERRY_EINVAL, ferry_net_backward(net));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    ferry_net_close(net);
    fx_end();
}

/*
 * Running layer by layer equals all at once; one layer alone uses the diff of its top, and leaves
 * the others' unchanged.
 */
static void backward_runs_on_a_range_of_layers(void)
{
    static const char text[] = "force_backward: true\n" INPUT("x", "dim: 2 dim: 3")
        INPUT("t", "dim: 2 dim: 2") IP("a", "x", "")
            IP("b", "a",
               "") "layer { name: 'l' type: 'EuclideanLoss' bottom: 'b' bottom: 't' top: 'l' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    double whole, before;

    fill(ferry_net_blob_find(net, "x"), 1);
    fill(ferry_net_blob_find(net, "t"), 2);
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    whole = diff_at(net, "x", 4);
    FX_OK(ferry_blob_fill_diff(ferry_net_blob_find(net, "x"), 0));
    FX_OK(ferry_net_backward_range(net, NULL, "b"));
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "x", 4), 0, 0);
    FX_OK(ferry_net_backward_range(net, "a", NULL));
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "x", 4), whole, 0);
    CU_ASSERT_NOT_EQUAL(whole, 0);
    before = diff_at(net, "b", 0);
    FX_OK(ferry_blob_fill_diff(ferry_net_blob_find(net, "a"), 0));
    FX_OK(ferry_net_backward_range(net, "a", "a"));
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "x", 4), 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "b", 0), before, 0);
    FX_FAILS(FERRY_EINVAL, ferry_net_backward_range(net, "a", "b"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "before"));
    FX_FAILS(FERRY_EINVAL, ferry_net_backward_range(net, NULL, "absent"));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "\"absent\""));
    FX_FAILS(FERRY_EINVAL, ferry_net_backward_range(NULL, NULL, NULL));
    ferry_net_close(net);
    fx_end();
}

/* Layers after the part do not match the new shapes, and are neither reshaped nor run. */
static void backward_runs_on_a_range_with_new_shapes(void)
{
    static const char text[] = "force_backward: true\n" INPUT(
        "x", "dim: 2 dim: 3") "layer { name: 's' type: 'Power' bottom: 'x' top: 's' power_param { "
                              "scale: 3 } }\n" IP("a", "s", "");
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);

    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_blob_reshape(ferry_net_blob_find(net, "x"), (int64_t[]){ 2, 5 }, 2, NULL));
    fill(ferry_net_blob_find(net, "x"), 1);
    FX_FAILS(FERRY_EINVAL, ferry_net_backward_range(net, "s", NULL));
    FX_OK(ferry_net_forward_range(net, NULL, "s", NULL));
    FX_OK(ferry_blob_fill_diff(ferry_net_blob_find(net, "s"), 2));
    FX_OK(ferry_net_backward_range(net, "s", NULL));
    CU_ASSERT_EQUAL(ferry_blob_element_count(ferry_net_blob_find(net, "x")), 10);
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "x", 9), 6, 1e-6);
    FX_FAILS(FERRY_EINVAL, ferry_net_backward(net));
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "changed since forward"));
    FX_OK(ferry_blob_reshape(ferry_net_blob_find(net, "x"), (int64_t[]){ 2, 3 }, 2, NULL));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    ferry_net_close(net);
    fx_end();
}

/* ---- gradients ------------------------------------------------------------------------------- */

/*
 * Two losses, of weights 2 and 0.5, on one blob: its diff is the sum; and a loss's own weight is
 * its diff.
 */
static void a_split_sums_the_diffs_of_weighted_losses(void)
{
    static const char text[] = "force_backward: true\n" INPUT("x", "dim: 2 dim: 3")
        INPUT("t", "dim: 2 dim: 3") "layer { name: 'l' type: 'EuclideanLoss' bottom: 'x' bottom: "
                                    "'t' top: 'l' loss_weight: 2 "
                                    "}\nlayer { name: 's' type: 'Reduction' bottom: 'x' top: 's' "
                                    "loss_weight: 0.5 }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    double loss = 0;

    FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "x"), 3));
    FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "t"), 1));
    FX_OK(ferry_net_forward(net, &loss));
    CU_ASSERT_DOUBLE_EQUAL(loss, 2 * (6 * 4 / 4.0) + 0.5 * 18, 1e-5);
    FX_OK(ferry_net_backward(net));
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "l", 0), 2, 0);
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "x", 5), 2 * (3 - 1) / 2.0 + 0.5, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "t", 5), -2 * (3 - 1) / 2.0, 1e-6);
    ferry_net_close(net);
    fx_end();
}

/*
 * Both layers use one blob of weights: its diff is the sum of both gradients, and the owner has it.
 */
static void shared_parameters_sum_their_diffs(void)
{
    static const char text[] = INPUT("x", "dim: 2 dim: 3") INPUT("z", "dim: 2 dim: 3")
        INPUT("t", "dim: 2 dim: 2") IP("a", "x", "param { name: 'w' }")
            IP("b", "z", "param { name: 'w' }") "layer { name: 'l' type: 'EuclideanLoss' bottom: "
                                                "'a' bottom: 't' top: 'l' }\n"
                                                "layer { name: 'm' type: 'EuclideanLoss' bottom: "
                                                "'b' bottom: 't' top: 'm' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    ferry_blob *w = ferry_net_param_at(net, nd_layer(net, "a"), 0);
    ferry_blob *same = ferry_net_param_at(net, nd_layer(net, "b"), 0);
    double both = 0, once = 0;

    CU_ASSERT_PTR_EQUAL(ferry_blob_diff_memory(w), ferry_blob_diff_memory(same));
    fill(ferry_net_blob_find(net, "x"), 1);
    fill(ferry_net_blob_find(net, "z"), 1);
    fill(ferry_net_blob_find(net, "t"), 2);
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    FX_OK(ferry_blob_sumsq_diff(w, &both));
    FX_OK(ferry_net_clear_param_diffs(net));
    FX_OK(ferry_blob_sumsq_diff(w, &once));
    CU_ASSERT_DOUBLE_EQUAL(once, 0, 0);
    FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "z"), 0));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    FX_OK(ferry_blob_sumsq_diff(w, &once));
    CU_ASSERT(once > 0);
    CU_ASSERT_DOUBLE_EQUAL(both, 4 * once, 1e-4 * both);
    ferry_net_close(net);
    fx_end();
}

/*
 * Caffe writes outside of its plane here: an input of −FLT_MAX is never the maximum, so the mask is
 * −1.
 */
static void a_pool_without_a_maximum_has_no_gradient(void)
{
    static const char text[] = "force_backward: true\n" INPUT(
        "x", "dim: 1 dim: 2 dim: 2 dim: 2") "layer { name: 'p' type: 'Pooling' bottom: 'x' top: "
                                            "'p' pooling_param { kernel_size: 2 } "
                                            "}\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    float *x = ferry_blob_overwrite_host_data(ferry_net_blob_find(net, "x"));

    for (int i = 0; i < 8; i++)
        x[i] = i < 4 ? NAN : (float)i;
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_blob_fill_diff(ferry_net_blob_find(net, "p"), 5));
    FX_OK(ferry_net_backward(net));
    for (int i = 0; i < 8; i++)
        CU_ASSERT_DOUBLE_EQUAL(diff_at(net, "x", i), i == 7 ? 5 : 0, 0);
    ferry_net_close(net);
    fx_end();
}

/* ---- NaN ------------------------------------------------------------------------------------- */

#define DUMMY(name, shape, value)                                                                  \
    "layer { name: '" name "' type: 'DummyData' top: '" name "' dummy_data_param { shape { " shape \
    " } data_filler { value: " value " } } }\n"

/* For NaN predictions max(0, 1 + x) is 0, as Caffe computes it. */
static const struct {
    const char *type, *rest;
    bool is_number;
} losses[] = {
    { "SoftmaxWithLoss", "bottom: 't'", false },
    { "MultinomialLogisticLoss", "bottom: 't'", false },
    { "InfogainLoss", "bottom: 't' bottom: 'h'", false },
    { "SigmoidCrossEntropyLoss", "bottom: 'z'", false },
    { "EuclideanLoss", "bottom: 'z'", false },
    { "ContrastiveLoss", "bottom: 'z' bottom: 't'", false },
    { "ContrastiveLoss", "bottom: 'z' bottom: 't' contrastive_loss_param { legacy_version: true }",
      false },
    { "HingeLoss", "bottom: 't'", true },
};

static void a_nan_prediction_gives_a_nan_loss(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(losses); i++) {
        char text[1024];
        double loss = 0;
        ferry_net *net;

        snprintf(text, sizeof text,
                 DUMMY("x", "dim: 1 dim: 2", "nan") DUMMY("z", "dim: 1 dim: 2", "0")
                     DUMMY("t", "dim: 1", "0")
                         DUMMY("h", "dim: 2 dim: 2",
                               "1") "layer { name: 'l' type: '%s' bottom: 'x' %s top: 'l' }",
                 losses[i].type, losses[i].rest);
        net = open_text(text, FERRY_PHASE_TRAIN, 0);
        FX_OK(ferry_net_forward(net, &loss));
        if (isnan(loss) == losses[i].is_number)
            printf("     %s %s: %g\n", losses[i].type, losses[i].rest, loss);
        CU_ASSERT_EQUAL(isnan(loss), !losses[i].is_number);
        ferry_net_close(net);
    }
    fx_end();
}

/* ---- dropout --------------------------------------------------------------------------------- */

/*
 * Dropped elements get no gradient, the remaining ones are scaled like their values; with a ratio
 * of 0 all are kept.
 */
static void the_gradient_of_dropout_uses_the_mask_of_forward(void)
{
    static const char *const ratios[] = { "0", "0.25", "0.9" };

    for (size_t r = 0; r < FERRY_TEST_COUNT(ratios); r++) {
        double scale = 1 / (1 - atof(ratios[r]));
        int64_t kept = 0, n = 4096, i;
        const float *y, *dx;
        char text[512];
        ferry_net *net;

        snprintf(
            text, sizeof text,
            "force_backward: true\n" INPUT(
                "x",
                "dim: 4096") "layer { name: 'd' type: "
                             "'Dropout' bottom: 'x' top: 'y' dropout_param { dropout_ratio: %s } }",
            ratios[r]);
        net = open_text(text, FERRY_PHASE_TRAIN, 0);
        FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "x"), 1));
        FX_OK(ferry_net_forward(net, NULL));
        FX_OK(ferry_blob_fill_diff(ferry_net_blob_find(net, "y"), 3));
        FX_OK(ferry_net_backward(net));
        y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
        dx = ferry_blob_host_diff(ferry_net_blob_find(net, "x"));
        CU_ASSERT_FATAL(y && dx);
        for (i = 0; i < n && (y[i] == 0 || fabs((double)y[i] - scale) < 1e-5) &&
                    fabs(3 * (double)y[i] - (double)dx[i]) < 1e-5;
             i++)
            kept += y[i] != 0;
        CU_ASSERT_EQUAL(i, n);
        CU_ASSERT(r ? fabs((double)kept * scale - (double)n) < 0.2 * (double)n : kept == n);
        ferry_net_close(net);
    }
    fx_end();
}

/* ---- a training's first iteration ------------------------------------------------------------ */

static void check_gradients(const char *run, const char *prototxt, const char *weights)
{
    ferry_net_options o = { .struct_size = sizeof(o), .phase = FERRY_PHASE_TRAIN };
    ferry_io *io = NULL;
    ferry_net *net = NULL;
    double loss = 0;
    int k = 0;

    CU_ASSERT_EQUAL_FATAL(ferry_io_open(ferry_test_data(run), &io), FERRY_OK);
    if (ferry_net_open(fx_device(), ferry_test_data(prototxt), &o, &net) ||
        ferry_net_load(net, ferry_test_data(weights), NULL) || ferry_net_forward(net, &loss) ||
        ferry_net_backward(net))
        CU_FAIL_FATAL("a net that trains");
    for (int layer = 0; layer < ferry_net_layer_count(net); layer++)
        for (int i = 0; i < ferry_net_param_count(net, layer); i++) {
            char key[32];

            snprintf(key, sizeof(key), "grad0_%d", k++);
            CU_ASSERT(
                nd_same_diff(io, nd_find(io, key), ferry_net_param_at(net, layer, i), 1e-5, run));
        }
    CU_ASSERT_EQUAL(k, 8);
    CU_ASSERT(loss > 1 && loss < 4);
    ferry_net_close(net);
    ferry_io_close(io);
    fx_end();
}

static void the_first_gradients_of_a_training_match_caffe(void)
{
    if (!ferry_test_data("nets/train/sgd/run.npz") || !ferry_test_data("nets/train/train_a.h5")) {
        ferry_test_skip("FERRY_TEST_DATA has no nets/train");
        return;
    }
    check_gradients("nets/train/sgd/run.npz", "nets/train/lenet_small.prototxt",
                    "nets/train/init.caffemodel");
    if (strcmp(ferry_test_backend(), "cpu") != 0) /* it reads 3,000 images each time */
        return;
    check_gradients("nets/train/sgd_smooth/run.npz", "nets/train/lenet_smooth.prototxt",
                    "nets/train/lenet_smooth.caffemodel");
}

/* ---- blobs that backward does not read ------------------------------------------------------- */

/* The bottom's diff after one pass backward; if the blob `poked` exists, its diff is set to 7. */
static double *bottoms_diff(const char *text, const char *poked)
{
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 1);
    double *copy = calloc(64, sizeof(*copy));

    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    for (int i = 0; i < ferry_net_input_count(net); i++)
        fill(ferry_net_input_at(net, i), (unsigned)i + 1);
    if (ferry_net_blob_find(net, "label"))
        FX_OK(ferry_blob_fill_data(ferry_net_blob_find(net, "label"), 1));
    FX_OK(ferry_net_forward(net, NULL));
    if (ferry_net_blob_find(net, "y"))
        FX_OK(ferry_blob_fill_diff(ferry_net_blob_find(net, "y"), 1));
    for (int i = 0; poked && i < ferry_net_output_count(net); i++)
        if (ferry_net_output_at(net, i) != ferry_net_blob_find(net, "y"))
            FX_OK(ferry_blob_fill_diff(
                ferry_net_output_at(net, i),
                ferry_net_output_at(net, i) == ferry_net_blob_find(net, poked) ? 7 : 0));
    FX_OK(ferry_net_backward(net));
    for (int64_t i = 0; i < ferry_blob_element_count(ferry_net_blob_find(net, "x")); i++)
        copy[i] = diff_at(net, "x", i);
    ferry_net_close(net);
    fx_end();
    return copy;
}

static void check_same(double *a, double *b)
{
    double sum = 0;

    for (int i = 0; i < 64; i++)
        sum += fabs(a[i]);
    CU_ASSERT(sum > 0);
    CU_ASSERT_EQUAL(memcmp(a, b, 64 * sizeof(*a)), 0);
    free(a);
    free(b);
}

/* Caffe's unrolled net shares the contents of the last states with the tops, not their diffs. */
static void the_diffs_of_exposed_states_are_ignored(void)
{
    static const char text[] = "force_backward: true\n" INPUT("x", "dim: 3 dim: 2 dim: 4")
        INPUT("cont", "dim: 3 dim: 2") INPUT("h0", "dim: 1 dim: 2 dim: 3")
            INPUT("c0", "dim: 1 dim: 2 dim: 3") "layer { name: 'l' type: 'LSTM' bottom: 'x' "
                                                "bottom: 'cont' bottom: 'h0' bottom: 'c0' top: "
                                                "'y' top: 'h' top: 'c' recurrent_param { "
                                                "num_output: 3 expose_hidden: true weight_filler { "
                                                "type: 'uniform' min: -1 max: 1 } } }\n";

    check_same(bottoms_diff(text, "y"), bottoms_diff(text, "c"));
    check_same(bottoms_diff(text, "y"), bottoms_diff(text, "h"));
}

/* The loss's gradient is computed from the probabilities, which its second top shows. */
static void probabilities_may_be_overwritten_before_backward(void)
{
#define LOSS                                                                                      \
    "force_backward: true\n" INPUT("x", "dim: 4 dim: 3")                                          \
        INPUT("label", "dim: 4") "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'x' bottom: " \
                                 "'label' top: 'l' top: 'p' }\n"
    check_same(bottoms_diff(LOSS, NULL),
               bottoms_diff(LOSS "layer { name: 'b' type: 'Power' bottom: 'p' top: 'p' power_param "
                                 "{ scale: -3 } }\n",
                            NULL));
#undef LOSS
}

/*
 * Once the images are on the device, the gradients are not copied off a device that supports the
 * operations.
 */
static void the_counts_include_the_copies_of_backward(void)
{
    static const char text[] = INPUT("x", "dim: 2 dim: 3") INPUT("t", "dim: 2 dim: 2")
        IP("a", "x", "") "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n" IP(
            "b", "a",
            "") "layer { name: 'l' type: 'EuclideanLoss' bottom: 'b' bottom: 't' top: 'l' }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    ferry_net_layer_info info = { .struct_size = sizeof(info) };

    fill(ferry_net_blob_find(net, "x"), 1);
    fill(ferry_net_blob_find(net, "t"), 2);
    FX_OK(ferry_net_set_measuring(net, FERRY_NET_MEASURE_HOST));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_backward(net));
    FX_OK(ferry_net_get_layer_info(net, nd_layer(net, "b"), &info));
    CU_ASSERT_EQUAL(info.needs_backward, 1);
    CU_ASSERT_EQUAL(info.backward_operations, 3);
    CU_ASSERT(info.backward_ms > 0);
    CU_ASSERT_DOUBLE_EQUAL(info.backward_flops, 2 * info.flops, 0);
    /* Forward: x, w and y of 2 × 2, and the bias. Backward: dy, w, dx; dy, x, dw; dy, dbias. */
    CU_ASSERT_DOUBLE_EQUAL(info.bytes_accessed, 14 * 4, 0);
    CU_ASSERT_DOUBLE_EQUAL(info.backward_bytes_accessed, 30 * 4, 0);
    FX_OK(ferry_net_get_layer_info(net, nd_layer(net, "l"), &info));
    CU_ASSERT_EQUAL(info.backward_tier, FERRY_TIER_HOST);
    FX_OK(ferry_net_get_layer_info(net, nd_layer(net, "x"), &info));
    CU_ASSERT_EQUAL(info.needs_backward, 0);
    ferry_net_close(net);
    fx_end();
}

static void the_bytes_of_a_repeated_input_count_once(void)
{
    static const char text[] =
        INPUT("x", "dim: 2 dim: 1 dim: 3")
        "layer { name: 't' type: 'Tile' bottom: 'x' top: 'y' tile_param { tiles: 5 } }\n";
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);
    ferry_net_layer_info info = { .struct_size = sizeof(info) };

    fill(ferry_net_blob_find(net, "x"), 1);
    FX_OK(ferry_net_set_measuring(net, FERRY_NET_MEASURE_HOST));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_get_layer_info(net, nd_layer(net, "t"), &info));
    CU_ASSERT_DOUBLE_EQUAL(info.bytes_accessed, (6 + 30) * 4, 0);
    ferry_net_close(net);
    fx_end();
}

/* ---- queries between passes ------------------------------------------------------------------ */

static void debug_means_require_all_blobs(void)
{
    static const char text[] = INPUT("x", "dim: 2 dim: 3") IP("a", "x", "");
    ferry_net *net = open_text(text, FERRY_PHASE_TRAIN, 0);

    CU_ASSERT_STRING_EQUAL(ferry_net_name(net), "");
    CU_ASSERT_STRING_EQUAL(ferry_net_name(NULL), "");
    FX_OK(ferry_net_set_debug(net, true));
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_set_debug(net, false));
    ferry_net_close(net);
    net = open_text(text, FERRY_PHASE_TEST, 0);
    FX_FAILS(FERRY_EINVAL, ferry_net_set_debug(net, true));
    FX_OK(ferry_net_set_debug(net, false));
    FX_FAILS(FERRY_EINVAL, ferry_net_set_debug(NULL, true));
    ferry_net_close(net);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(backward_runs_the_layers_between_learned_parameters_and_a_loss),
    FERRY_TEST(a_loss_without_a_top_has_the_given_weight),
    FERRY_TEST(the_diffs_of_exposed_states_are_ignored),
    FERRY_TEST(probabilities_may_be_overwritten_before_backward),
    FERRY_TEST(propagate_down_false_stops_the_backward_pass),
    FERRY_TEST(force_backward_stops_at_labels_and_logs_it),
    FERRY_TEST(a_gradient_for_labels_is_an_error_with_the_message_of_caffe),
    FERRY_TEST(backward_requires_the_option_and_a_forward_of_the_same_shapes),
    FERRY_TEST(backward_runs_on_a_range_of_layers),
    FERRY_TEST(backward_runs_on_a_range_with_new_shapes),
    FERRY_TEST(a_split_sums_the_diffs_of_weighted_losses),
    FERRY_TEST(shared_parameters_sum_their_diffs),
    FERRY_TEST(a_pool_without_a_maximum_has_no_gradient),
    FERRY_TEST(a_nan_prediction_gives_a_nan_loss),
    FERRY_TEST(the_gradient_of_dropout_uses_the_mask_of_forward),
    FERRY_TEST(the_first_gradients_of_a_training_match_caffe),
    FERRY_TEST(the_counts_include_the_copies_of_backward),
    FERRY_TEST(the_bytes_of_a_repeated_input_count_once),
    FERRY_TEST(debug_means_require_all_blobs),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "nets backward", cases, FERRY_TEST_COUNT(cases));
}
