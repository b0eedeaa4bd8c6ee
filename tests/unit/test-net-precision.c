/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "rounds.h"

#include <ferry/net.h>
#include <ferry/net_ranges.h>
#include <ferry/op.h>

#include "net/ir/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Nets whose products may be rounded to BF16, compared with F32. Each element of a product must be
 * within the bound that the roundings of its factors give; the exact sums are computed in doubles
 * from the net's parameters.
 */

#define LAYER(name, type, bottom, top, more) \
    "layer { name: '" name "' type: '" type "' " bottom " top: '" top "' " more " }\n"
#define INPUT \
    LAYER("in", "Input", "", "x", "input_param { shape { dim: 2 dim: 70 dim: 3 dim: 5 } }")
#define FILL "weight_filler { type: 'msra' } bias_filler { type: 'gaussian' std: 0.2 }"
#define CONV                                      \
    LAYER("c", "Convolution", "bottom: 'x'", "a", \
          "convolution_param { num_output: 40 kernel_size: 3 pad: 1 " FILL " }")
#define PRODUCT                                    \
    LAYER("i", "InnerProduct", "bottom: 'x'", "y", \
          "inner_product_param { num_output: 50 " FILL " }")
#define CHAIN                                             \
    INPUT CONV LAYER("r", "ReLU", "bottom: 'a'", "a", "") \
        LAYER("i", "InnerProduct", "bottom: 'a'", "y",    \
              "inner_product_param { num_output: 50 " FILL " }")

static ferry_net *open_with(const char *text, ferry_precision precision, bool backward)
{
    ferry_net_options options = { .struct_size = sizeof options,
                                  .phase = FERRY_PHASE_TEST,
                                  .text = text,
                                  .text_size = strlen(text),
                                  .seed = 5,
                                  .backward = backward,
                                  .precision = precision };
    ferry_net *net = NULL;
    float *values;
    int64_t i, n;

    CU_ASSERT_EQUAL_FATAL(ferry_net_open(fx_device(), "precision", &options, &net), 0);
    values = ferry_blob_overwrite_host_data(ferry_net_blob_find(net, "x"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    n = ferry_blob_element_count(ferry_net_blob_find(net, "x"));
    for (i = 0, srand(3); i < n; i++)
        values[i] = (float)rand() / (float)RAND_MAX * 2 - 0.7f;
    CU_ASSERT_EQUAL_FATAL(ferry_net_forward(net, NULL), 0);
    return net;
}

static ferry_net *open_net(const char *text, ferry_precision precision)
{
    return open_with(text, precision, false);
}

static const float *output_of(ferry_net *net, int64_t *out_count)
{
    ferry_blob *y = ferry_net_output_at(net, 0);

    *out_count = ferry_blob_element_count(y);
    return ferry_blob_host_data(y);
}

static bool is_equal(ferry_net *a, ferry_net *b)
{
    int64_t n, m;
    const float *x = output_of(a, &n), *y = output_of(b, &m);

    return x && y && n == m && !memcmp(x, y, (size_t)n * sizeof *x);
}

static const char *precision_of(const ferry_net *net, const char *layer)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };
    int i;

    for (i = 0; !ferry_net_get_layer_info(net, i, &info); i++)
        if (!strcmp(info.name, layer))
            return info.precision;
    return "?";
}

/* Whether the device computes a product of few rows with weights of BF16. */
static bool has_bf16(void)
{
    ferry_net *net = open_net(INPUT PRODUCT, FERRY_PRECISION_BF16);
    bool has = !strcmp(precision_of(net, "i"), "bf16");

    CU_ASSERT(has || !strcmp(precision_of(net, "i"), "f32"));
    ferry_net_close(net);
    return has;
}

static void nothing_changes_by_default(void)
{
    ferry_net *plain, *f32;

    unsetenv("FERRY_PRECISION");
    plain = open_net(CHAIN, FERRY_PRECISION_DEFAULT);
    f32 = open_net(CHAIN, FERRY_PRECISION_F32);
    CU_ASSERT(is_equal(plain, f32));
    CU_ASSERT_STRING_EQUAL(precision_of(plain, "i"), "f32");
    CU_ASSERT_STRING_EQUAL(precision_of(plain, "r"), "");
    ferry_net_close(plain);
    ferry_net_close(f32);
}

/* The elements of the inner product of x with the weights and the bias of layer 1. */
static void each_element_is_within_its_bound(void)
{
    ferry_net *net = open_net(INPUT PRODUCT, FERRY_PRECISION_BF16);
    const float *x = ferry_blob_host_data(ferry_net_blob_find(net, "x"));
    const float *w = ferry_blob_host_data(ferry_net_param_at(net, 1, 0));
    const float *b = ferry_blob_host_data(ferry_net_param_at(net, 1, 1));
    const double factors = 2 * 0x1p-8 + 0x1p-16; /* two of 8 bits, to nearest */
    int64_t n, i, k, length = 70 * 3 * 5;
    const float *y = output_of(net, &n);

    CU_ASSERT_EQUAL_FATAL(n, 2 * 50);
    for (i = 0; i < n; i++) {
        double sum = 0, magnitude = 0;

        for (k = 0; k < length; k++) {
            double term = (double)x[i / 50 * length + k] * (double)w[i % 50 * length + k];

            sum += term;
            magnitude += fabs(term);
        }
        sum += (double)b[i % 50];
        CU_ASSERT(fabs((double)y[i] - sum) <=
                  magnitude * factors +
                      (magnitude + fabs((double)b[i % 50])) * (double)(length + 2) * 0x1p-23);
    }
    ferry_net_close(net);
}

static void layers_report_their_precision(void)
{
    ferry_net *f32 = open_net(CHAIN, FERRY_PRECISION_F32);
    ferry_net *bf16 = open_net(CHAIN, FERRY_PRECISION_BF16);
    int i, rounded = 0;

    for (i = 0; i < 2; i++)
        rounded += !strcmp(precision_of(bf16, i ? "i" : "c"), "bf16");
    CU_ASSERT_EQUAL(is_equal(f32, bf16), rounded == 0);
    CU_ASSERT_EQUAL(rounded > 0, has_bf16());
    CU_ASSERT_STRING_EQUAL(precision_of(f32, "c"), "f32");
    ferry_net_close(f32);
    ferry_net_close(bf16);
}

static void named_layers_stay_f32(void)
{
    ferry_net *f32 = open_net(CHAIN, FERRY_PRECISION_F32);
    ferry_net *bf16 = open_net(CHAIN, FERRY_PRECISION_BF16);

    CU_ASSERT_EQUAL(ferry_net_set_float_only(bf16, "c", true), 0);
    CU_ASSERT_EQUAL(ferry_net_set_float_only(bf16, "i", true), 0);
    CU_ASSERT_EQUAL(ferry_net_forward(bf16, NULL), 0);
    CU_ASSERT(is_equal(f32, bf16));
    CU_ASSERT_STRING_EQUAL(precision_of(bf16, "i"), "f32");
    ferry_net_close(f32);
    ferry_net_close(bf16);
}

/* By the option only: FERRY_PRECISION does not change what trains. */
static void nets_that_run_backward_stay_f32_by_default(void)
{
    ferry_net *f32 = open_with(CHAIN, FERRY_PRECISION_F32, true), *by_environment;

    setenv("FERRY_PRECISION", "bf16", 1);
    by_environment = open_with(CHAIN, FERRY_PRECISION_DEFAULT, true);
    unsetenv("FERRY_PRECISION");
    CU_ASSERT(is_equal(f32, by_environment));
    CU_ASSERT_STRING_EQUAL(precision_of(by_environment, "i"), "f32");
    ferry_net_close(f32);
    ferry_net_close(by_environment);
}

/* The largest difference of a parameter's gradients, relative to its largest gradient. */
static double gradients_apart(ferry_net *a, ferry_net *b, int layer)
{
    ferry_blob *of_a = ferry_net_param_at(a, layer, 0), *of_b = ferry_net_param_at(b, layer, 0);
    const float *x = ferry_blob_host_diff(of_a), *y = ferry_blob_host_diff(of_b);
    double most = 0, largest = 0;

    CU_ASSERT_FATAL(x && y);
    for (int64_t i = 0; i < ferry_blob_element_count(of_a); i++) {
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
        largest = fmax(largest, fabs((double)x[i]));
    }
    CU_ASSERT(largest > 0);
    return most / largest;
}

#define LEARNING                                    \
    CHAIN LAYER("l", "Power", "bottom: 'y'", "z", \
                "loss_weight: 1 power_param { power: 2 }")

static void nets_that_run_backward_round_their_gradients_factors(void)
{
    ferry_net *f32 = open_with(LEARNING, FERRY_PRECISION_F32, true);
    ferry_net *bf16 = open_with(LEARNING, FERRY_PRECISION_BF16, true);
    ferry_net_layer_info info = { .struct_size = sizeof info };
    bool rounds;

    CU_ASSERT_EQUAL(ferry_net_backward(f32), 0);
    CU_ASSERT_EQUAL(ferry_net_backward(bf16), 0);
    CU_ASSERT_EQUAL(ferry_net_get_layer_info(f32, 3, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.backward_precision, "f32");
    CU_ASSERT_EQUAL(ferry_net_get_layer_info(bf16, 3, &info), 0);
    CU_ASSERT_STRING_EQUAL(info.name, "i");
    rounds = !strcmp(info.backward_precision, "bf16");
    if (rounds_to_bf16(fx_device(), 2, 600, 50))
        CU_ASSERT(rounds && !strcmp(info.precision, "bf16"));
    for (int layer = 1; layer <= 3; layer += 2) {
        double apart = gradients_apart(f32, bf16, layer);

        /* before ReLU, an element near 0 may have another sign */
        CU_ASSERT(rounds ? apart > 1e-6 && apart < (layer == 1 ? 0.25 : 0x1p-6) : apart < 1e-5);
    }
    ferry_net_close(f32);
    ferry_net_close(bf16);
}

/* Compares the plans of a pass, whose items are the same. */
static void compare_plans(const struct ferry__item *f32, const struct ferry__item *bf16, int n)
{
    for (int i = 0; i < n; i++) {
        ferry_operation_plan a = { .struct_size = sizeof a }, b = a;

        CU_ASSERT_EQUAL_FATAL(f32[i].op.kind, bf16[i].op.kind);
        if (!f32[i].prepared || !bf16[i].prepared)
            continue;
        CU_ASSERT_EQUAL_FATAL(ferry_operation_get_plan(f32[i].prepared, &a), 0);
        CU_ASSERT_EQUAL_FATAL(ferry_operation_get_plan(bf16[i].prepared, &b), 0);
        CU_ASSERT_EQUAL(a.tier, b.tier);
        /* weights that are packed once stay so, in half of the memory if they are rounded */
        CU_ASSERT_EQUAL(a.packed_bytes > 0, b.packed_bytes > 0);
        if (b.math & FERRY_MATH_BF16) {
            CU_ASSERT(b.packed_bytes <= a.packed_bytes);
            continue;
        }
        CU_ASSERT_EQUAL(a.packed_bytes, b.packed_bytes);
        CU_ASSERT_EQUAL(a.workspace_bytes, b.workspace_bytes);
        CU_ASSERT_EQUAL(a.math, b.math);
    }
}

static void weights_are_packed_once_as_in_f32(void)
{
    ferry_net *nets[2] = { open_with(LEARNING, FERRY_PRECISION_F32, true),
                           open_with(LEARNING, FERRY_PRECISION_BF16, true) };
    const struct ferry__program *f32 = nets[0]->stages[0].now, *bf16 = nets[1]->stages[0].now;

    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(ferry_net_backward(nets[i]), 0);
    CU_ASSERT_EQUAL_FATAL(f32->n_items, bf16->n_items);
    CU_ASSERT_EQUAL_FATAL(f32->n_back, bf16->n_back);
    compare_plans(f32->items, bf16->items, f32->n_items);
    compare_plans(f32->back, bf16->back, f32->n_back);
    ferry_net_close(nets[0]);
    ferry_net_close(nets[1]);
}

static void new_weights_are_rounded_again(void)
{
    ferry_net *bf16 = open_net(INPUT PRODUCT, FERRY_PRECISION_BF16);
    ferry_blob *w = ferry_net_param_at(bf16, 1, 0), *b = ferry_net_param_at(bf16, 1, 1);
    int64_t n, i, count = ferry_blob_element_count(w);
    float *values = ferry_blob_overwrite_host_data(w), *bias = ferry_blob_overwrite_host_data(b);
    const float *y;

    for (i = 0; i < count; i++)
        values[i] = 0;
    for (i = 0; i < ferry_blob_element_count(b); i++)
        bias[i] = (float)i;
    CU_ASSERT_EQUAL(ferry_net_forward(bf16, NULL), 0);
    y = output_of(bf16, &n);
    for (i = 0; i < n; i++)
        CU_ASSERT_EQUAL(y[i], (float)(i % 50));
    ferry_net_close(bf16);
}

static void the_environment_sets_the_default_precision(void)
{
    ferry_net *f32, *bf16, *by_environment;

    setenv("FERRY_PRECISION", "bf16", 1);
    f32 = open_net(CHAIN, FERRY_PRECISION_F32);
    by_environment = open_net(CHAIN, FERRY_PRECISION_DEFAULT);
    setenv("FERRY_PRECISION", "f32", 1);
    bf16 = open_net(CHAIN, FERRY_PRECISION_BF16);
    CU_ASSERT(is_equal(by_environment, bf16));
    CU_ASSERT_EQUAL(is_equal(by_environment, f32), !has_bf16());
    ferry_net_close(by_environment);
    by_environment = open_net(CHAIN, FERRY_PRECISION_DEFAULT);
    CU_ASSERT(is_equal(by_environment, f32));
    unsetenv("FERRY_PRECISION");
    ferry_net_close(f32);
    ferry_net_close(bf16);
    ferry_net_close(by_environment);
}

static void bad_precisions_are_refused(void)
{
    ferry_net_options options = { .struct_size = sizeof options,
                                  .text = CHAIN,
                                  .text_size = strlen(CHAIN),
                                  .precision = (ferry_precision)3 };
    ferry_net *net = NULL;

    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "precision", &options, &net), FERRY_EINVAL);
    options.precision = FERRY_PRECISION_DEFAULT;
    setenv("FERRY_PRECISION", "half", 1);
    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "precision", &options, &net), FERRY_ECONF);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "FERRY_PRECISION=half"));
    unsetenv("FERRY_PRECISION");
    options.precision = FERRY_PRECISION_BF16;
    options.fake_quantize = true;
    CU_ASSERT_EQUAL(ferry_net_open(fx_device(), "precision", &options, &net), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "fake_quantize"));
    CU_ASSERT_PTR_NULL(net);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(nothing_changes_by_default),
    FERRY_TEST(each_element_is_within_its_bound),
    FERRY_TEST(layers_report_their_precision),
    FERRY_TEST(named_layers_stay_f32),
    FERRY_TEST(nets_that_run_backward_stay_f32_by_default),
    FERRY_TEST(nets_that_run_backward_round_their_gradients_factors),
    FERRY_TEST(weights_are_packed_once_as_in_f32),
    FERRY_TEST(new_weights_are_rounded_again),
    FERRY_TEST(the_environment_sets_the_default_precision),
    FERRY_TEST(bad_precisions_are_refused),
};

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "cpu[isa=portable]", cases, FERRY_TEST_COUNT(cases) },
        { "cpu[isa=avx2]", cases, FERRY_TEST_COUNT(cases) }, /* rounds constant weights only */
    };
    size_t n = 1;
    int result =
        ferry_test_main_backends(argc, argv, "precision of nets", cases, FERRY_TEST_COUNT(cases));

#ifdef __x86_64__
    n += __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return ferry_test_worse(result,
                            ferry_test_main_sets(argc, argv, "precision of nets", sets, n));
}
