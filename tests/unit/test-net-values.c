/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"
#include "oom.h"

#include <ferry/net.h>
#include <ferry/net_ranges.h>

#include "net/ir/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Values between the layers of a net that may be BF16. The product's weights are the identity, and
 * its bias shows whether the sum was rounded: 'a' is x + bias, and 'y' is 'a', which is added to a
 * product of zeros.
 */

#define LAYER(name, type, bottom, top, more) \
    "layer { name: '" name "' type: '" type "' " bottom " top: '" top "' " more " }\n"
#define INPUT \
    LAYER("in", "Input", "", "x", "input_param { shape { dim: 1 dim: 64 dim: 12 dim: 12 } }")
#define CONV(name, bottom, top, more)                       \
    LAYER(name, "Convolution", "bottom: '" bottom "'", top, \
          "convolution_param { num_output: 64 " more " }")
#define SUM(a, b, top) LAYER("e", "Eltwise", "bottom: '" a "' bottom: '" b "'", top, "")
#define CHAIN                                                                         \
    INPUT CONV("c", "x", "a", "kernel_size: 1") CONV("z", "a", "b", "kernel_size: 1") \
        SUM("a", "b", "y")
/* 'a' is also the input of a layer that computes in F32. */
#define READ CHAIN LAYER("t", "TanH", "bottom: 'a'", "t", "")
#define FILL "weight_filler { type: 'msra' }"
/* A shortcut, pools, a concatenation, a product of many taps and a depthwise one. */
#define MANY                                                                                       \
    INPUT CONV("c", "x", "a", "kernel_size: 1 " FILL) LAYER("r", "ReLU", "bottom: 'a'", "a", "")   \
        CONV("d", "a", "d", "kernel_size: 3 pad: 1 " FILL) LAYER(                                  \
            "p", "Pooling", "bottom: 'a'", "p", "pooling_param { kernel_size: 3 pad: 1 }")         \
            CONV("f", "p", "f", "kernel_size: 1 " FILL) LAYER("k", "Concat",                       \
                                                              "bottom: 'd' bottom: 'f'", "k", "")  \
                LAYER("w", "Convolution", "bottom: 'k'", "w",                                      \
                      "convolution_param { num_output: 128 group: 128 kernel_size: 3 pad: 1 " FILL \
                      " }") CONV("g", "w", "g", "kernel_size: 1 " FILL) SUM("g", "a", "s")         \
                    CONV("h", "s", "y", "kernel_size: 1 " FILL)

/* BatchNorm, Scale and ReLU between a concatenation and a product. */
#define NORMALISED(bottom, top)                                                          \
    LAYER("n" top, "BatchNorm", "bottom: '" bottom "'", top,                             \
          "batch_norm_param { use_global_stats: true eps: 1 }")                          \
    LAYER("s" top, "Scale", "bottom: '" top "'", top, "scale_param { bias_term: true }") \
    LAYER("r" top, "ReLU", "bottom: '" top "'", top, "")
#define DENSE                                                                             \
    INPUT CONV("c", "x", "a", "kernel_size: 1 " FILL) NORMALISED("a", "n")                \
        CONV("d", "n", "d", "kernel_size: 1 " FILL)                                       \
            LAYER("k", "Concat", "bottom: 'a' bottom: 'd'", "k", "") NORMALISED("k", "m") \
                CONV("h", "m", "y", "kernel_size: 1 " FILL)

static int open_net(const char *text, ferry_precision precision, bool backward, bool keeps,
                    ferry_net **out)
{
    static const char *const names[] = { "a" };
    ferry_net_options options = { .struct_size = sizeof options,
                                  .text = text,
                                  .text_size = strlen(text),
                                  .seed = 5,
                                  .backward = backward,
                                  .precision = precision,
                                  .keep = keeps ? names : NULL,
                                  .keep_count = keeps };

    return ferry_net_open(fx_device(), "values", &options, out);
}

static float value_at(int64_t i)
{
    return (float)(i * 7 % 33 - 16) / 8;
}

static float bias_at(int64_t channel)
{
    return (float)channel * 0x1.01p-6f;
}

static void set_input(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < 64 * 144; i++)
        x[i] = value_at(i);
}

/* Sets the first product's weights to the identity and its bias, and those of others to 0. */
static void set_weights(ferry_net *net)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };

    for (int i = 0; !ferry_net_get_layer_info(net, i, &info); i++) {
        bool is_first = !strcmp(info.name, "c");
        float *w, *b;

        if (strcmp(info.type, "Convolution"))
            continue;
        w = ferry_blob_overwrite_host_data(ferry_net_param_at(net, i, 0));
        b = ferry_blob_overwrite_host_data(ferry_net_param_at(net, i, 1));
        CU_ASSERT_FATAL(w && b);
        for (int64_t k = 0; k < 64 * 64; k++)
            w[k] = is_first && k / 64 == k % 64;
        for (int64_t k = 0; k < 64; k++)
            b[k] = is_first ? bias_at(k) : 0;
    }
}

/* Whether the device multiplies pairs of BF16: only then it takes values of BF16. */
static bool is_bf16(void)
{
    ferry_net_layer_info info = { .struct_size = sizeof info };
    ferry_net *net = NULL;
    bool is = false;

    FX_OK(open_net(CHAIN, FERRY_PRECISION_BF16, false, false, &net));
    FX_OK(ferry_net_forward(net, NULL));
    for (int i = 0; !ferry_net_get_layer_info(net, i, &info); i++)
        is = is || (!strcmp(info.name, "c") && !strcmp(info.precision, "bf16"));
    ferry_net_close(net);
    return is;
}

/* Runs a net of the two products and asserts that 'y' is the sum, rounded or not. */
static void check(const char *text, ferry_precision precision, bool backward, bool keeps,
                  bool is_rounded)
{
    ferry_net *net = NULL;
    const float *y;

    FX_OK(open_net(text, precision, backward, keeps, &net));
    set_weights(net);
    set_input(net);
    FX_OK(ferry_net_forward(net, NULL));
    y = ferry_blob_host_data(ferry_net_blob_find(net, "y"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(y);
    for (int64_t i = 0; i < 64 * 144; i++) {
        double sum = (double)(value_at(i) + bias_at(i / 144));

        if (is_rounded)
            sum = fx_decode16(FERRY_BF16, fx_encode16(FERRY_BF16, sum));
        CU_ASSERT_FATAL((double)y[i] == sum);
    }
    ferry_net_close(net);
}

static void values_between_products_are_rounded(void)
{
    check(CHAIN, FERRY_PRECISION_BF16, false, false, is_bf16());
}

static void values_are_f32_by_default(void)
{
    check(CHAIN, FERRY_PRECISION_F32, false, false, false);
}

static void kept_blobs_stay_f32(void)
{
    check(CHAIN, FERRY_PRECISION_BF16, false, true, false);
}

static void values_that_other_layers_read_stay_f32(void)
{
    check(READ, FERRY_PRECISION_BF16, false, false, false);
}

static void nets_that_run_backward_keep_f32(void)
{
    check(CHAIN, FERRY_PRECISION_BF16, true, false, false);
}

static void named_layers_read_and_write_f32(void)
{
    for (int i = 0; i < 2; i++) {
        ferry_net *net = NULL;

        FX_OK(open_net(CHAIN, FERRY_PRECISION_BF16, false, false, &net));
        FX_OK(ferry_net_set_float_only(net, i ? "c" : "z", true));
        set_input(net);
        FX_OK(ferry_net_forward(net, NULL));
        for (int v = 0; v < net->stages[0].now->n_values; v++)
            CU_ASSERT_EQUAL(net->stages[0].now->values[v].dtype, FERRY_F32);
        ferry_net_close(net);
    }
}

static int count_narrow(const ferry_net *net)
{
    const struct ferry__program *p = net->stages[0].now;
    int count = 0;

    for (int v = 0; v < p->n_values; v++)
        count += p->values[v].dtype == FERRY_BF16 && p->values[v].end >= p->values[v].first;
    return count;
}

/* The output of a net of all operations that take BF16, of which the caller frees the copy. */
static float *output_of(ferry_net *net, int64_t *out_count)
{
    ferry_blob *y = ferry_net_output_at(net, 0);
    float *copy;

    set_input(net);
    FX_OK(ferry_net_forward(net, NULL));
    *out_count = ferry_blob_element_count(y);
    copy = malloc((size_t)*out_count * sizeof *copy);
    memcpy(copy, ferry_blob_host_data(y), (size_t)*out_count * sizeof *copy);
    return copy;
}

/* Compares the outputs of a net in both precisions; in BF16 it has `narrow` values of BF16. */
static void compare(const char *text, int narrow)
{
    ferry_net *f32 = NULL, *bf16 = NULL;
    double signal = 0, noise = 0;
    float *want, *got;
    int64_t n;

    FX_OK(open_net(text, FERRY_PRECISION_F32, false, false, &f32));
    FX_OK(open_net(text, FERRY_PRECISION_BF16, false, false, &bf16));
    want = output_of(f32, &n);
    got = output_of(bf16, &n);
    for (int64_t i = 0; i < n; i++) {
        signal += (double)want[i] * (double)want[i];
        noise += ((double)want[i] - (double)got[i]) * ((double)want[i] - (double)got[i]);
    }
    CU_ASSERT_EQUAL(count_narrow(f32), 0);
    if (is_bf16()) {
        CU_ASSERT_EQUAL(count_narrow(bf16), narrow);
        CU_ASSERT(noise > 0);
    }
    CU_ASSERT(noise * 3000 < signal); /* 35 dB */
    free(want);
    free(got);
    ferry_net_close(f32);
    ferry_net_close(bf16);
}

static void all_operations_that_take_bf16_pass_it_on(void)
{
    compare(MANY, 5); /* a, p, w, s, and k with its slices d and f */
}

static void normalisations_before_products_take_bf16(void)
{
    compare(DENSE, 3); /* n, m, and k with its slices a and d */
}

/* A scale that no convolution reads, a sum, and a product of two blobs. */
static void other_functions_of_two_operands_compute_in_f32(void)
{
    static const char *const nets[] = {
        INPUT CONV("c", "x", "a", "kernel_size: 1 " FILL)
            LAYER("p", "Pooling", "bottom: 'a'", "p", "pooling_param { kernel_size: 3 }")
                NORMALISED("p", "n") LAYER("t", "TanH", "bottom: 'n'", "y", ""),
        INPUT CONV("c", "x", "a", "kernel_size: 1 " FILL) LAYER("p", "Pooling", "bottom: 'a'", "p",
                                                                "pooling_param { kernel_size: 3 }")
            LAYER("b", "Bias", "bottom: 'p'", "b", "") CONV("h", "b", "y", "kernel_size: 3 pad: 1"),
        INPUT CONV("c", "x", "a", "kernel_size: 1 " FILL)
            CONV("d", "x", "d", "kernel_size: 1 " FILL) LAYER(
                "m", "Eltwise", "bottom: 'a' bottom: 'd'", "m", "eltwise_param { operation: PROD }")
                CONV("h", "m", "y", "kernel_size: 1 " FILL),
    };

    for (size_t i = 0; i < sizeof nets / sizeof nets[0]; i++) {
        ferry_net *net = NULL;

        FX_OK(open_net(nets[i], FERRY_PRECISION_BF16, false, false, &net));
        set_input(net);
        FX_OK(ferry_net_forward(net, NULL));
        CU_ASSERT_EQUAL(count_narrow(net), 0);
        ferry_net_close(net);
    }
}

static void every_allocation_of_a_first_pass_may_fail(void)
{
    bool failed = true;
    unsigned n;

    for (n = 1; failed; n++) {
        ferry_net *net = NULL;
        int err;

        FX_OK(open_net(MANY, FERRY_PRECISION_BF16, false, false, &net));
        set_input(net);
        oom_arm(n);
        err = ferry_net_forward(net, NULL);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        FX_OK(ferry_net_forward(net, NULL));
        ferry_net_close(net);
    }
    CU_ASSERT(n > 20);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(values_between_products_are_rounded),
    FERRY_TEST(values_are_f32_by_default),
    FERRY_TEST(kept_blobs_stay_f32),
    FERRY_TEST(values_that_other_layers_read_stay_f32),
    FERRY_TEST(nets_that_run_backward_keep_f32),
    FERRY_TEST(named_layers_read_and_write_f32),
    FERRY_TEST(all_operations_that_take_bf16_pass_it_on),
    FERRY_TEST(normalisations_before_products_take_bf16),
    FERRY_TEST(other_functions_of_two_operands_compute_in_f32),
    FERRY_TEST(every_allocation_of_a_first_pass_may_fail),
};

int main(int argc, char **argv)
{
    static const ferry_test_set sets[] = {
        { "cpu[isa=portable]", cases, FERRY_TEST_COUNT(cases) },
        { "cpu[isa=bf16]", cases, FERRY_TEST_COUNT(cases) },
    };
    size_t n = 1;

#if defined(__x86_64__) && (!defined(__clang__) ? __GNUC__ >= 10 : __clang_major__ >= 9)
    n += __builtin_cpu_supports("avx512bf16") != 0;
#endif
    return ferry_test_main_sets(argc, argv, "values of nets", sets, n);
}
