/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Fusion of layers: each pattern is compared with the same net without fusion, with random
 * parameters, and the number of remaining operations is checked.
 */

#define INPUT(shape) \
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { " shape " } } }\n"
#define X INPUT("dim: 2 dim: 3 dim: 5 dim: 4")
#define CONV                                                                             \
    "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { " \
    "num_output: 4 kernel_size: 3 pad: 1 } }\n"
#define SIX INPUT("dim: 2 dim: 6 dim: 5 dim: 4")
#define GROUPS(bottom, top)                   \
    LAYER("conv", "Convolution", bottom, top, \
          "convolution_param { num_output: 4 group: 2 kernel_size: 3 bias_term: false }")
#define PADDED "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }"
#define LAYER(name, type, bottom, top, more) \
    "layer { name: '" name "' type: '" type "' bottom: '" bottom "' top: '" top "' " more " }\n"
#define BN(bottom, top)    LAYER("bn", "BatchNorm", bottom, top, "")
#define SCALE(bottom, top) LAYER("scale", "Scale", bottom, top, "scale_param { bias_term: true }")
#define RELU(bottom, top)  LAYER("relu", "ReLU", bottom, top, "")

struct pattern {
    const char *name, *text;
    int operations; /* where convolutions apply the epilogue; without copies of borders */
};

static const struct pattern patterns[] = {
    { "relu in place", X CONV RELU("c", "c"), 1 },
    { "relu", X CONV RELU("c", "y"), 1 },
    { "leaky relu", X CONV LAYER("r", "ReLU", "c", "y", "relu_param { negative_slope: 0.1 }"), 1 },
    { "batch norm, scale, relu in place", X CONV BN("c", "c") SCALE("c", "c") RELU("c", "c"), 1 },
    { "batch norm, scale, relu", X CONV BN("c", "d") SCALE("d", "e") RELU("e", "y"), 1 },
    { "batch norm alone", X CONV BN("c", "y"), 1 },
    { "scale without bias", X CONV LAYER("s", "Scale", "c", "y", ""), 1 },
    { "a scalar scale", X CONV LAYER("s", "Scale", "c", "y", "scale_param { num_axes: 0 }"), 1 },
    { "bias", X CONV LAYER("b", "Bias", "c", "y", ""), 1 },
    { "power 1", X CONV LAYER("p", "Power", "c", "y", "power_param { scale: 2 shift: -1 }"), 1 },
    { "power 2 is a step", X CONV LAYER("p", "Power", "c", "y", "power_param { power: 2 }"), 1 },
    { "prelu", X CONV LAYER("p", "PReLU", "c", "y", ""), 1 },
    { "shared prelu", X CONV LAYER("p", "PReLU", "c", "c", "prelu_param { channel_shared: true }"),
      1 },
    { "BN of a fork", X CONV LAYER("b", "BN", "c", "y", "bn_param { bn_mode: INFERENCE }"), 1 },
    { "BN that learns is not", X CONV LAYER("b", "BN", "c", "y", ""), 5 },
    { "batch statistics are not",
      X CONV LAYER("b", "BatchNorm", "c", "y", "batch_norm_param { use_global_stats: false }"), 7 },
    { "scale along another axis is not",
      X CONV LAYER("s", "Scale", "c", "y", "scale_param { axis: 2 }"), 2 },
    { "a convolution without bias",
      X "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { "
        "num_output: 4 kernel_size: 3 bias_term: false } }\n" BN("c", "c") SCALE("c", "y"),
      1 },
    { "in groups",
      X "layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { "
        "num_output: 6 kernel_size: 3 group: 3 } }\n" SCALE("c", "y"),
      1 },
    { "deconvolution in groups",
      X "layer { name: 'conv' type: 'Deconvolution' bottom: 'x' top: 'c' convolution_param { "
        "num_output: 6 kernel_size: 3 group: 3 stride: 2 } }\n" SCALE("c", "y"),
      1 },
    { "inner product",
      X "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'c' inner_product_param { "
        "num_output: 7 } }\n" BN("c", "c") SCALE("c", "c") RELU("c", "y"),
      1 },
    { "transposed inner product",
      X "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'c' inner_product_param { "
        "num_output: 7 transpose: true bias_term: false } }\n" SCALE("c", "y"),
      1 },
    { "two consumers: not", X CONV RELU("c", "r") LAYER("s", "Sigmoid", "c", "s", ""), 3 },
    { "two consumers of what is in place",
      X CONV RELU("c", "c") LAYER("s", "Sigmoid", "c", "s", "") LAYER("t", "TanH", "c", "t", ""),
      3 },
    { "a convolution of a convolution",
      X CONV RELU("c", "c") "layer { name: 'd' type: 'Convolution' bottom: 'c' top: 'y' "
                            "convolution_param { num_output: 2 kernel_size: 1 } }\n",
      2 },
    { "a sum of two, then relu",
      X CONV
      "layer { name: 'd' type: 'Convolution' bottom: 'x' top: 'd' convolution_param { "
      "num_output: 4 kernel_size: 1 } }\n"
      "layer { name: 'e' type: 'Eltwise' bottom: 'c' bottom: 'd' top: 'e' }\n" RELU("e", "y"),
      2 },
    { "a sum with what came before",
      INPUT("dim: 1 dim: 4 dim: 3 dim: 3") LAYER("p", "TanH", "x", "t", "")
          LAYER("c", "Convolution", "t", "c",
                "convolution_param { num_output: 4 kernel_size: 1 }") "layer { name: 'e' type: "
                                                                      "'Eltwise' bottom: 'c' "
                                                                      "bottom: 't' top: 'y' }\n",
      2 },
    { "a weighted sum: not",
      X CONV "layer { name: 'd' type: 'Convolution' bottom: 'x' top: 'd' convolution_param { "
             "num_output: 4 kernel_size: 1 } }\n"
             "layer { name: 'e' type: 'Eltwise' bottom: 'c' bottom: 'd' top: 'y' eltwise_param { "
             "coeff: 1 coeff: -1 } }\n",
      3 },
    { "batch norm and scale before a convolution",
      X BN("x", "a") SCALE("a", "b") LAYER("conv", "Convolution", "b", "y",
                                           "convolution_param { num_output: 4 kernel_size: 3 }"),
      1 },
    { "batch norm before a convolution in groups, and behind it",
      SIX BN("x", "a") SCALE("a", "b") GROUPS("b", "c") LAYER("bn2", "BatchNorm", "c", "y", ""),
      1 },
    { "in place, without a plan: not",
      SIX LAYER("p", "TanH", "x", "a", "") BN("a", "a") GROUPS("a", "y"), 3 },
    { "batch norm, scale, relu behind no convolution",
      X LAYER("t", "TanH", "x", "t", "") BN("t", "a") SCALE("a", "b") RELU("b", "y"), 2 },
    { "batch norm, scale, relu in place behind no convolution",
      X LAYER("t", "TanH", "x", "t", "") BN("t", "t") SCALE("t", "t") RELU("t", "t"), 2 },
    { "batch norm, scale, relu before a convolution",
      X BN("x", "a") SCALE("a", "b") RELU("b", "c") LAYER("conv", "Convolution", "c", "y", PADDED),
      2 },
    { "batch norm, scale before padding",
      X BN("x", "a") SCALE("a", "b") LAYER("conv", "Convolution", "b", "y", PADDED), 2 },
    { "batch norm, scale, power, bias, scale, tanh",
      X BN("x", "a") SCALE("a", "b") LAYER("p", "Power", "b", "c", "power_param { scale: 2 }")
          LAYER("i", "Bias", "c", "d", "") LAYER("s", "Scale", "d", "e", "")
              LAYER("t", "TanH", "e", "y", ""),
      2 },
    { "batch norm of two consumers",
      X BN("x", "a") SCALE("a", "y") LAYER("t", "TanH", "a", "t", ""), 3 },
    { "a product of two, then sigmoid",
      X LAYER("t", "TanH", "x", "t",
              "") "layer { name: 'e' type: 'Eltwise' bottom: 'x' bottom: 't' "
                  "top: 'e' eltwise_param { operation: PROD } }\n" LAYER("s", "Sigmoid", "e", "y",
                                                                         ""),
      2 },
    { "a shift before padding: not", X BN("x", "c") LAYER("conv", "Convolution", "c", "y", PADDED),
      2 },
    { "a scale before padding",
      X LAYER("s", "Scale", "x", "c", "") LAYER("conv", "Convolution", "c", "y", PADDED), 1 },
    { "power before a convolution of two consumers: not",
      X LAYER("p", "Power", "x", "c", "power_param { scale: 2 shift: -1 }") LAYER(
          "conv", "Convolution", "c", "y", "convolution_param { num_output: 4 kernel_size: 2 }")
          LAYER("t", "TanH", "c", "t", ""),
      3 },
    { "batch norm, power before an inner product",
      X BN("x", "a") LAYER("p", "Power", "a", "b", "power_param { scale: 2 shift: -1 }")
          LAYER("ip", "InnerProduct", "b", "y", "inner_product_param { num_output: 7 }"),
      1 },
    { "batch norm before a transposed inner product",
      X BN("x", "a") LAYER("ip", "InnerProduct", "a", "y",
                           "inner_product_param { num_output: 7 transpose: true }"),
      1 },
    { "batch norm before a deconvolution: not",
      X BN("x", "a") LAYER("d", "Deconvolution", "a", "y",
                           "convolution_param { num_output: 2 kernel_size: 3 stride: 2 }"),
      2 },
    { "shared parameters are folded apart",
      X "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' param { name: 'w' } "
        "convolution_param { num_output: 4 kernel_size: 1 bias_term: false } }\n"
        "layer { name: 'b' type: 'Convolution' bottom: 'x' top: 'b' param { name: 'w' } "
        "convolution_param { num_output: 4 kernel_size: 1 bias_term: false } }\n" SCALE("a", "s"),
      2 },
    { "flattened, then in place",
      X LAYER("t", "TanH", "x", "t", "") LAYER("f", "Flatten", "t", "y", "") RELU("y", "y"), 2 },
    { "a concatenation of one, then in place",
      X CONV LAYER("n", "Concat", "c", "y", "") LAYER("m", "Softmax", "y", "y", ""), 2 },
    { "split, then in place what the other half is, too",
      X LAYER("t", "TanH", "x", "t", "") "layer { name: 's' type: 'Split' bottom: 't' top: 'a' "
                                         "top: 'b' }\n" RELU("b", "b")
                                             LAYER("p", "Pooling", "b", "p",
                                                   "pooling_param { kernel_size: 2 }"),
      3 },
    { "a convolution of what was reshaped",
      X LAYER("t", "TanH", "x", "t", "") LAYER(
          "f", "Reshape", "t", "f", "reshape_param { shape { dim: 0 dim: -1 dim: 1 dim: 1 } }")
          LAYER("c", "Convolution", "f", "y", "convolution_param { num_output: 4 kernel_size: 1 }"),
      2 },
    { "a concatenation in another one, which is written over",
      X LAYER("t", "TanH", "x", "t", "") "layer { name: 'a' type: 'Concat' bottom: 't' bottom: 'x' "
                                         "top: 'a' }\n"
                                         "layer { name: 'b' type: 'Concat' bottom: 'a' bottom: 'x' "
                                         "top: 'b' }\n" RELU("b", "b")
                                             LAYER("s", "Sigmoid", "t", "s", ""),
      7 },
    { "pooled, reshaped, pooled",
      X LAYER("t", "Pooling", "x", "t", "pooling_param { kernel_size: 2 }") LAYER(
          "f", "Reshape", "t", "f", "reshape_param { shape { dim: 0 dim: 4 dim: 3 dim: -1 } }")
          LAYER("c", "Pooling", "f", "y", "pooling_param { pool: AVE kernel_size: 2 }"),
      2 },
};

static ferry_net *open_text(const char *text, int fuse, int plan)
{
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net = NULL;

    o.no_fuse = fuse < 0;
    o.no_plan = plan < 0;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    return net;
}

static float next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 24);
}

static void fill(ferry_blob *b, unsigned *state, float low, float high)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        to[i] = low + (high - low) * next(state);
}

/* Parameters between 0.1 and 1.1, valid as variances too. */
static void fill_net(ferry_net *net, unsigned seed)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++)
        for (int k = 0; k < ferry_net_param_count(net, i); k++)
            fill(ferry_net_param_at(net, i, k), &seed, 0.1f, 1.1f);
    fill(ferry_net_input_at(net, 0), &seed, -1, 1);
}

static int operations(const ferry_net *net)
{
    int n = 0;

    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        FX_OK(ferry_net_get_layer_info(net, i, &info));
        n += info.operations;
    }
    return n;
}

static bool same_outputs(ferry_net *a, ferry_net *b)
{
    bool same = true;

    for (int i = 0; i < ferry_net_output_count(a); i++) {
        const float *x = ferry_blob_host_data(ferry_net_output_at(a, i));
        const float *y = ferry_blob_host_data(ferry_net_output_at(b, i));
        int64_t n = ferry_blob_element_count(ferry_net_output_at(a, i)), k;
        double most = 0, worst = 0;

        CU_ASSERT_PTR_NOT_NULL_FATAL(x);
        CU_ASSERT_PTR_NOT_NULL_FATAL(y);
        for (k = 0; k < n; k++) {
            most = fmax(most, fabs((double)y[k]));
            worst = fmax(worst, fabs((double)x[k] - (double)y[k]));
        }
        same = same && worst <= 1e-5 * most && most > 0;
    }
    return same;
}

static bool takes_steps(void)
{
    return !strcmp(ferry_test_backend(), "cpu");
}

/* The number of operations without the copies of borders, which a plan adds. */
static void check_pattern(const struct pattern *t)
{
    ferry_net *fused = open_text(t->text, 0, -1), *plain = open_text(t->text, -1, -1);
    ferry_net *planned = open_text(t->text, 0, 0);
    bool good;

    fill_net(fused, 7);
    fill_net(plain, 7);
    fill_net(planned, 7);
    FX_OK(ferry_net_forward(fused, NULL));
    FX_OK(ferry_net_forward(plain, NULL));
    FX_OK(ferry_net_forward(planned, NULL));
    good = same_outputs(fused, plain) && same_outputs(planned, plain);
    fill_net(fused, 8); /* weights that are loaded later are folded again */
    fill_net(plain, 8);
    fill_net(planned, 8);
    FX_OK(ferry_net_forward(fused, NULL));
    FX_OK(ferry_net_forward(plain, NULL));
    FX_OK(ferry_net_forward(planned, NULL));
    good = good && same_outputs(fused, plain) && same_outputs(planned, plain);
    if (takes_steps() && operations(fused) != t->operations)
        good = false;
    if (!good)
        printf("     %s: %d operations, %d unfused\n", t->name, operations(fused),
               operations(plain));
    CU_ASSERT(good);
    ferry_net_close(fused);
    ferry_net_close(plain);
    ferry_net_close(planned);
    fx_end();
}

static void each_pattern_computes_the_same_as_its_layers(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(patterns); i++)
        check_pattern(&patterns[i]);
}

static const char chain[] = X CONV BN("c", "d") SCALE("d", "e") RELU("e", "f")
    LAYER("pool", "Pooling", "f", "y", "pooling_param { kernel_size: 2 stride: 2 }");

static void the_error_for_a_fused_or_planned_blob_names_keep(void)
{
    const char *const keep[] = { "e" };
    ferry_net_options o = { .struct_size = sizeof o, .text = chain, .text_size = strlen(chain) };
    ferry_net *net = open_text(chain, 0, 0);

    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "c"));
    CU_ASSERT(strstr(ferry_last_error(), "keep") != NULL);
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "f"));
    CU_ASSERT_PTR_NULL(ferry_net_blob_at(net, 1));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "x"));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "y"));
    ferry_net_close(net);
    o.keep = keep;
    o.keep_count = 1;
    FX_OK(ferry_net_open(fx_device(), NULL, &o, &net));
    CU_ASSERT_PTR_NOT_NULL(ferry_net_blob_find(net, "e"));
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "f"));
    ferry_net_close(net);
    o.keep = (const char *const[]){ "absent" };
    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), NULL, &o, &net), FERRY_EINVAL);
    CU_ASSERT(strstr(ferry_last_error(), "absent") != NULL);
    fx_end();
}

static void kept_blobs_have_their_unfused_values(void)
{
    const char *const names[] = { "c", "d", "e", "f" };
    ferry_net_options o = { .struct_size = sizeof o, .text = chain, .text_size = strlen(chain) };
    ferry_device *dev = fx_device();
    ferry_net *plain;

    o.keep = (const char *const[]){ "*" };
    o.keep_count = 1;
    FX_OK(ferry_net_open(dev, NULL, &o, &plain));
    fill_net(plain, 3);
    FX_OK(ferry_net_forward(plain, NULL));
    for (size_t i = 0; i < FERRY_TEST_COUNT(names); i++) {
        ferry_net *net;
        const float *a, *b;
        int64_t k, n;

        o.keep = &names[i];
        FX_OK(ferry_net_open(dev, NULL, &o, &net));
        fill_net(net, 3);
        FX_OK(ferry_net_forward(net, NULL));
        n = ferry_blob_element_count(ferry_net_blob_find(net, names[i]));
        a = ferry_blob_host_data(ferry_net_blob_find(net, names[i]));
        b = ferry_blob_host_data(ferry_net_blob_find(plain, names[i]));
        for (k = 0; k < n && fabsf(a[k] - b[k]) <= 1e-5f * (1 + fabsf(b[k])); k++)
            ;
        CU_ASSERT_EQUAL(k, n);
        CU_ASSERT(same_outputs(net, plain));
        ferry_net_close(net);
    }
    ferry_net_close(plain);
    fx_end();
}

static void only_kept_blobs_are_computed(void)
{
    const char *text =
        X CONV RELU("c", "r") LAYER("s", "Sigmoid", "r", "s", "") LAYER("t", "TanH", "r", "t", "");
    ferry_net_options o = { .struct_size = sizeof o, .text = text, .text_size = strlen(text) };
    ferry_net *net, *plain = open_text(text, -1, -1);
    const float *a, *b;

    o.keep = (const char *const[]){ "t" };
    o.keep_count = 1;
    o.only = true;
    o.no_plan = true;
    FX_OK(ferry_net_open(fx_device(), NULL, &o, &net));
    fill_net(net, 5);
    fill_net(plain, 5);
    FX_OK(ferry_net_forward(net, NULL));
    FX_OK(ferry_net_forward(plain, NULL));
    CU_ASSERT_PTR_NULL(ferry_net_blob_find(net, "s"));
    a = ferry_blob_host_data(ferry_net_blob_find(net, "t"));
    b = ferry_blob_host_data(ferry_net_blob_find(plain, "t"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_DOUBLE_EQUAL(a[11], b[11], 1e-6);
    if (takes_steps())
        CU_ASSERT_EQUAL(operations(plain) - operations(net), 3); /* all within the convolution */
    ferry_net_close(net);
    ferry_net_close(plain);
    fx_end();
}

static void running_a_part_of_a_fused_net_requires_keep(void)
{
    ferry_net *net = open_text(chain, 0, 0);

    fill_net(net, 1);
    CU_ASSERT_EQUAL(ferry_net_forward_range(net, NULL, "conv", NULL), FERRY_EINVAL);
    CU_ASSERT(strstr(ferry_last_error(), "keep") != NULL);
    FX_OK(ferry_net_forward_range(net, NULL, NULL, NULL));
    ferry_net_close(net);
    fx_end();
}

static void a_net_that_shares_parameters_folds_them(void)
{
    ferry_net *a = open_text(chain, 0, 0), *b = open_text(chain, 0, 0);

    fill_net(a, 2);
    fill_net(b, 9);
    FX_OK(ferry_net_forward(a, NULL));
    FX_OK(ferry_net_forward(b, NULL));
    FX_OK(ferry_net_share(b, a));
    FX_OK(ferry_blob_copy_from(ferry_net_input_at(b, 0), ferry_net_input_at(a, 0), 0));
    FX_OK(ferry_net_forward(b, NULL));
    CU_ASSERT(same_outputs(a, b));
    ferry_net_close(a);
    ferry_net_close(b);
    fx_end();
}

/* Parameters in other memory with the same write count. */
static void parameters_that_moved_to_other_memory_are_folded_again(void)
{
    ferry_net *a = open_text(chain, 0, 0), *b = open_text(chain, 0, 0);

    fill_net(a, 2);
    fill_net(b, 9);
    FX_OK(ferry_net_forward(a, NULL));
    FX_OK(ferry_net_forward(b, NULL));
    for (int i = 0; i < ferry_net_layer_count(b); i++)
        for (int k = 0; k < ferry_net_param_count(b, i); k++)
            FX_OK(ferry_blob_share_data(ferry_net_param_at(b, i, k), ferry_net_param_at(a, i, k)));
    FX_OK(ferry_blob_copy_from(ferry_net_input_at(b, 0), ferry_net_input_at(a, 0), 0));
    FX_OK(ferry_net_forward(b, NULL));
    CU_ASSERT(same_outputs(a, b));
    ferry_net_close(b);
    ferry_net_close(a);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(parameters_that_moved_to_other_memory_are_folded_again),
    FERRY_TEST(each_pattern_computes_the_same_as_its_layers),
    FERRY_TEST(the_error_for_a_fused_or_planned_blob_names_keep),
    FERRY_TEST(kept_blobs_have_their_unfused_values),
    FERRY_TEST(only_kept_blobs_are_computed),
    FERRY_TEST(running_a_part_of_a_fused_net_requires_keep),
    FERRY_TEST(a_net_that_shares_parameters_folds_them),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net fuse", cases, FERRY_TEST_COUNT(cases));
}
