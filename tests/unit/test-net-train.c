/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Nets that train write results where backward keeps them, and in-place results are not visible,
 * until a pass runs a part of the net. Both forms have to compute the same.
 */

#define CONV(name, bottom)                                                                        \
    "layer { name: '" name "' type: 'Convolution' bottom: '" bottom "' top: '" name               \
    "' convolution_param { num_output: 6 kernel_size: 3 pad: 1 bias_term: false weight_filler { " \
    "type: 'msra' }"                                                                              \
    " } }\n"
#define IN_PLACE(name, type, blob) \
    "layer { name: '" name "' type: '" type "' bottom: '" blob "' top: '" blob "' }\n"
#define SCALE(name, blob)                                                   \
    "layer { name: '" name "' type: 'Scale' bottom: '" blob "' top: '" blob \
    "' scale_param { bias_term: true filler { type: 'uniform' min: 0.5 max: 1.5 } } }\n"

/* In place; with tops of their own; with ReLU behind BatchNorm; ReLU behind other layers. */
static const char text[] =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 7 dim: 9 } "
    "} }\n"
    "layer { name: 't' type: 'Input' top: 't' input_param { shape { dim: 2 dim: 4 } } }\n" CONV(
        "a", "x") IN_PLACE("an", "BatchNorm", "a") SCALE("as", "a") IN_PLACE("ar", "ReLU", "a")
        CONV("b", "a") "layer { name: 'bn' type: 'BatchNorm' bottom: 'b' top: 'bn' }\n" SCALE(
            "bs", "bn") IN_PLACE("br", "ReLU", "bn") CONV("c", "bn")
            IN_PLACE("cn", "BatchNorm", "c") IN_PLACE("cr", "ReLU", "c") CONV("d", "c")
                IN_PLACE("dr", "ReLU", "d") IN_PLACE("dn", "BatchNorm", "d") SCALE(
                    "ds",
                    "d") "layer { name: 'e' type: 'Eltwise' bottom: 'd' bottom: 'a' top: 'e' "
                         "}\n" IN_PLACE(
                             "er", "ReLU",
                             "e") "layer { name: 'y' type: 'InnerProduct' bottom: 'e' top: 'y' "
                                  "inner_product_param { num_output: 4 weight_filler { type: "
                                  "'xavier' } } }\n"
                                  "layer { name: 'l' type: 'EuclideanLoss' bottom: 'y' bottom: 't' "
                                  "top: 'l' }\n";

static ferry_net *open_net(ferry_device *dev)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .phase = FERRY_PHASE_TRAIN };
    ferry_net *net = NULL;

    o.text_size = strlen(text);
    FX_OK(ferry_net_open(dev, "net", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    for (int i = 0; i < ferry_net_input_count(net); i++)
        fx_fill(ferry_net_input_at(net, i));
    return net;
}

/* The largest difference of two arrays, relative to the largest number; 1 if a number is NaN. */
static double apart(const float *x, const float *y, int64_t n)
{
    double most = 0, difference = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)y[i]));
        difference = fmax(difference, fabs((double)x[i] - (double)y[i]));
        if (x[i] != x[i])
            return 1;
    }
    return most > 0 ? difference / most : difference;
}

static double blobs_apart(const ferry_net *a, const ferry_net *b, bool diffs)
{
    double most = 0;

    for (int i = 0; i < ferry_net_blob_count(a); i++) {
        const ferry_blob *x = ferry_net_blob_at(a, i), *y = ferry_net_blob_at(b, i);
        int64_t n = ferry_blob_element_count(x);

        if (!diffs)
            most = fmax(most, apart(ferry_blob_host_data(x), ferry_blob_host_data(y), n));
    }
    for (int layer = 0; diffs && layer < ferry_net_layer_count(a); layer++)
        for (int i = 0; i < ferry_net_param_count(a, layer); i++) {
            const ferry_blob *x = ferry_net_param_at(a, layer, i);

            if (strchr(ferry_layer_name(ferry_net_layer_at(a, layer)), 'n')) /* BatchNorm */
                continue;
            most = fmax(most, apart(ferry_blob_host_diff(x),
                                    ferry_blob_host_diff(ferry_net_param_at(b, layer, i)),
                                    ferry_blob_element_count(x)));
        }
    return most;
}

static void run_in_parts(ferry_net *net)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        const char *name = ferry_layer_name(ferry_net_layer_at(net, i));

        FX_OK(ferry_net_forward_range(net, name, name, NULL));
    }
}

/* Two equal nets, of which `parts` runs some passes in parts. */
struct pair {
    ferry_net *whole, *parts;
};

static struct pair open_pair(void)
{
    ferry_device *dev = fx_device();

    return (struct pair){ open_net(dev), open_net(dev) };
}

static void forward(struct pair p)
{
    FX_OK(ferry_net_forward(p.whole, NULL));
    FX_OK(ferry_net_forward(p.parts, NULL));
}

/* Runs both backward; the gradients agree. */
static void backward(struct pair p)
{
    FX_OK(ferry_net_backward(p.whole));
    FX_OK(ferry_net_backward(p.parts));
    CU_ASSERT(blobs_apart(p.whole, p.parts, true) < 1e-4);
}

static void close_pair(struct pair p)
{
    ferry_net_close(p.whole);
    ferry_net_close(p.parts);
    fx_end();
}

static void a_net_in_parts_computes_the_same(void)
{
    struct pair p = open_pair();

    FX_OK(ferry_net_forward(p.whole, NULL));
    run_in_parts(p.parts);
    CU_ASSERT(blobs_apart(p.whole, p.parts, false) < 1e-5);
    backward(p);
    close_pair(p);
}

/* The results that backward needs come from the whole pass and from the part. */
static void a_part_after_a_whole_pass_leaves_what_backward_needs(void)
{
    struct pair p = open_pair();

    forward(p);
    FX_OK(ferry_net_forward_range(p.parts, "b", "cr", NULL));
    backward(p);
    FX_OK(ferry_net_clear_param_diffs(p.whole));
    FX_OK(ferry_net_clear_param_diffs(p.parts));
    forward(p);
    backward(p);
    close_pair(p);
}

/* A pass over the whole net multiplies BatchNorm's spread by Scale's factor, not the gradient. */
static void a_backward_pass_in_parts_computes_the_same(void)
{
    struct pair p = open_pair();

    forward(p);
    FX_OK(ferry_net_backward(p.whole));
    for (int i = ferry_net_layer_count(p.parts); i-- > 0;) {
        const char *name = ferry_layer_name(ferry_net_layer_at(p.parts, i));

        FX_OK(ferry_net_backward_range(p.parts, name, name));
    }
    CU_ASSERT(blobs_apart(p.whole, p.parts, true) < 1e-4);
    close_pair(p);
}

static void a_part_shows_the_results_of_its_layers(void)
{
    ferry_net *net = open_net(fx_device());
    ferry_blob *a = ferry_net_blob_find(net, "a");
    double sum = 0, least = 0;
    const float *x;

    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_forward_range(net, "a", "an", NULL));
    x = ferry_blob_host_data(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < ferry_blob_element_count(a); i++) {
        sum += (double)x[i];
        least = fmin(least, (double)x[i]);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum, 0, 1e-2); /* normalised, and before ReLU */
    CU_ASSERT(least < -1);
    ferry_net_close(net);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_net_in_parts_computes_the_same),
    FERRY_TEST(a_part_after_a_whole_pass_leaves_what_backward_needs),
    FERRY_TEST(a_backward_pass_in_parts_computes_the_same),
    FERRY_TEST(a_part_shows_the_results_of_its_layers),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net train", cases, FERRY_TEST_COUNT(cases));
}
