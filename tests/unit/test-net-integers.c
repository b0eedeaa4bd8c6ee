/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <ferry/net.h>
#include <ferry/net_ranges.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Nets whose products are computed with integers of 8 bits, compared with F32. Each net first runs
 * in F32 and keeps all blobs, from which a second net gets its ranges. The difference of one
 * product must be within the bound that its two roundings give; whole nets must reach a
 * signal-to-noise ratio.
 */

#define LAYER(name, type, bottoms, top, more) \
    "layer { name: '" name "' type: '" type "' " bottoms " top: '" top "' " more " }\n"
#define INPUT \
    LAYER("in", "Input", "", "x", "input_param { shape { dim: 2 dim: 9 dim: 13 dim: 11 } }")
#define FILL "weight_filler { type: 'msra' } bias_filler { type: 'gaussian' std: 0.2 }"
#define CONV(name, bottom, top, outputs, kernel, more)                                         \
    LAYER(name, "Convolution", "bottom: '" bottom "'", top,                                    \
          "convolution_param { num_output: " outputs " kernel_size: " kernel " " more " " FILL \
          " }")
#define RELU(name, blob) LAYER(name, "ReLU", "bottom: '" blob "'", blob, "")
#define LEAKY(name, blob) \
    LAYER(name, "ReLU", "bottom: '" blob "'", blob, "relu_param { negative_slope: 0.05 }")
#define PAIR(a, b) "bottom: '" a "' bottom: '" b "'"

struct pattern {
    const char *name, *text;
    double least; /* dB */
};

static const struct pattern patterns[] = {
    { "one convolution", INPUT CONV("c", "x", "y", "40", "3", "pad: 1"), 30 },
    { "a chain",
      INPUT CONV("c", "x", "a", "40", "3", "pad: 1") RELU("r", "a") CONV(
          "d", "a", "b", "33", "1", "") RELU("s", "b") CONV("e", "b", "y", "20", "3", "stride: 2"),
      25 },
    { "other functions after it",
      INPUT CONV("c", "x", "a", "40", "3", "pad: 1")
          LAYER("r", "ReLU", "bottom: 'a'", "a", "relu_param { negative_slope: 0.2 }")
              CONV("d", "a", "b", "33", "1", "") LAYER("s", "Sigmoid", "bottom: 'b'", "b", "")
                  CONV("e", "b", "y", "20", "3", ""),
      25 },
    { "a limit after it",
      INPUT CONV("c", "x", "a", "40", "3", "pad: 1") LAYER("r", "ReLU6", "bottom: 'a'", "a", "")
          CONV("e", "a", "y", "20", "3", ""),
      25 },
    { "batch norm and scale folded",
      INPUT CONV("c", "x", "a", "40", "3", "pad: 1")
          LAYER("s", "Scale", "bottom: 'a'", "a", "scale_param { bias_term: true }") RELU("r", "a")
              CONV("e", "a", "y", "20", "3", ""),
      25 },
    { "two branches joined",
      INPUT CONV("c", "x", "a", "32", "1", "") RELU("r", "a") CONV("d", "a", "b", "33", "1", "")
          RELU("s", "b") CONV("e", "a", "c", "20", "3", "pad: 1") RELU("t", "c")
              LAYER("j", "Concat", PAIR("b", "c"), "j", "") CONV("f", "j", "y", "17", "1", ""),
      25 },
    { "two branches joined and normalised",
      INPUT CONV("c", "x", "a", "32", "1", "") RELU("r", "a") CONV("d", "a", "b", "33", "1", "")
          RELU("s", "b") CONV("e", "a", "c", "20", "3", "pad: 1")
              LAYER("j", "Concat", PAIR("b", "c"), "j", "")
                  LAYER("n", "Scale", "bottom: 'j'", "n", "scale_param { bias_term: true }")
                      RELU("t", "n") CONV("f", "n", "y", "17", "1", ""),
      25 },
    { "two branches that only a normalisation and an average read",
      INPUT CONV("c", "x", "a", "32", "1", "") CONV("d", "a", "b", "33", "1", "")
          CONV("e", "a", "c", "70", "3", "pad: 1") LAYER("j", "Concat", PAIR("b", "c"), "j", "")
              LAYER("n", "Scale", "bottom: 'j'", "n", "scale_param { bias_term: true }")
                  RELU("t", "n") CONV("f", "n", "g", "17", "1", "")
                      LAYER("p", "Pooling", "bottom: 'g'", "p",
                            "pooling_param { pool: AVE kernel_size: 2 stride: 2 }")
                          LAYER("m", "Scale", "bottom: 'p'", "m", "scale_param { bias_term: true }")
                              RELU("u", "m") CONV("h", "m", "y", "19", "1", ""),
      25 },
    { "a sum of branches",
      INPUT CONV("c", "x", "a", "32", "1", "") RELU("r", "a")
          CONV("d", "a", "b", "32", "3", "pad: 1") LAYER("j", "Eltwise", PAIR("a", "b"), "j", "")
              RELU("s", "j") CONV("f", "j", "y", "17", "1", ""),
      25 },
    { "a sum of which pointwise convolutions read some positions",
      INPUT CONV("c", "x", "a", "32", "1", "") RELU("r", "a")
          CONV("d", "a", "b", "32", "3", "pad: 1") LAYER("j", "Eltwise", PAIR("a", "b"), "j", "")
              RELU("s", "j") CONV("f", "j", "y", "17", "1", "stride: 2"),
      25 },
    { "the sum of the later branch",
      INPUT CONV("c", "x", "a", "32", "1", "") CONV("d", "x", "b", "32", "1", "")
          LAYER("j", "Eltwise", PAIR("a", "b"), "j", "") CONV("f", "j", "y", "17", "1", ""),
      25 },
    { "pooling",
      INPUT CONV("c", "x", "a", "32", "3", "") RELU("r", "a")
          LAYER("p", "Pooling", "bottom: 'a'", "p", "pooling_param { kernel_size: 3 stride: 2 }")
              CONV("d", "p", "b", "40", "1", "")
                  LAYER("q", "Pooling", "bottom: 'b'", "q",
                        "pooling_param { pool: AVE global_pooling: true }")
                      LAYER("i", "InnerProduct", "bottom: 'q'", "y",
                            "inner_product_param { num_output: 10 " FILL " }"),
      25 },
    { "an average that is read",
      INPUT CONV("c", "x", "a", "32", "3", "") RELU("r", "a") CONV("k", "a", "k", "19", "1", "")
          LAYER("q", "Pooling", "bottom: 'a'", "q",
                "pooling_param { pool: AVE kernel_size: 2 stride: 2 }")
              LAYER("i", "InnerProduct", "bottom: 'q'", "y",
                    "inner_product_param { num_output: 10 " FILL " }"),
      25 },
    { "a reader in F32",
      INPUT CONV("c", "x", "a", "32", "3", "") RELU("r", "a") CONV("d", "a", "b", "40", "1", "")
          LAYER("t", "TanH", "bottom: 'a'", "z", "") CONV("e", "z", "y", "12", "1", ""),
      25 },
    { "a depthwise convolution between products",
      INPUT CONV("c", "x", "a", "40", "1", "") RELU("r", "a")
          CONV("d", "a", "b", "40", "3", "group: 40 pad: 1 stride: 2") RELU("s", "b")
              CONV("e", "b", "y", "20", "1", ""),
      25 },
    { "few negative values",
      INPUT CONV("c", "x", "a", "40", "3", "pad: 1") LEAKY("r", "a")
          CONV("d", "a", "b", "33", "3", "") LEAKY("s", "b") CONV("e", "b", "y", "20", "1", ""),
      38.5 },
    { "few negative values and padding",
      INPUT CONV("c", "x", "a", "40", "3", "pad: 1") LEAKY("r", "a")
          CONV("d", "a", "b", "33", "3", "pad: 2") LEAKY("s", "b")
              CONV("e", "b", "y", "20", "3", "pad: 1"),
      30 },
    { "few negative values in a sum and an average",
      INPUT CONV("c", "x", "a", "32", "1", "") LEAKY("r", "a") CONV("d", "a", "b", "32", "1", "")
          LAYER("j", "Eltwise", PAIR("a", "b"), "j", "") LEAKY("s", "j")
              LAYER("q", "Pooling", "bottom: 'j'", "q",
                    "pooling_param { pool: AVE kernel_size: 2 stride: 2 }")
                  LAYER("i", "InnerProduct", "bottom: 'q'", "y",
                        "inner_product_param { num_output: 10 " FILL " }"),
      38.5 },
    { "dropout, split and flatten",
      INPUT CONV("c", "x", "a", "32", "3", "") RELU("r", "a") LAYER(
          "o", "Dropout", "bottom: 'a'", "a", "") LAYER("f", "Flatten", "bottom: 'a'", "f", "")
          LAYER("i", "InnerProduct", "bottom: 'f'", "i",
                "inner_product_param { num_output: 50 " FILL " }") RELU("s", "i")
              LAYER("k", "InnerProduct", "bottom: 'i'", "y",
                    "inner_product_param { num_output: 10 transpose: true " FILL " }"),
      25 },
};

static ferry_net *open_net(const char *text, bool all, bool floats)
{
    static const char *const kept[] = { "*" };
    ferry_net_options options = { .struct_size = sizeof options,
                                  .phase = FERRY_PHASE_TEST,
                                  .text = text,
                                  .text_size = strlen(text),
                                  .seed = 5,
                                  .ignore_quantization = floats,
                                  .keep = kept,
                                  .keep_count = all ? 1 : 0 };
    ferry_net *net = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_net_open(fx_device(), "integers", &options, &net), 0);
    return net;
}

static void fill(ferry_net *net)
{
    ferry_blob *x = ferry_net_blob_find(net, "x");
    float *values = ferry_blob_overwrite_host_data(x);
    int64_t i;

    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    srand(3);
    for (i = 0; i < ferry_blob_element_count(x); i++)
        values[i] = (float)rand() / (float)RAND_MAX * 2 - 0.7f;
}

/* Sets the ranges of all blobs of `net` to what `from` holds. */
static void take_ranges(ferry_net *net, const ferry_net *from)
{
    int i;

    for (i = 0; i < ferry_net_blob_count(from); i++) {
        ferry_blob *b = ferry_net_blob_at(from, i);
        const float *v = b ? ferry_blob_host_data(b) : NULL;
        float least = INFINITY, most = -INFINITY;
        int64_t k;

        for (k = 0; v && k < ferry_blob_element_count(b); k++) {
            least = fminf(least, v[k]);
            most = fmaxf(most, v[k]);
        }
        if (v)
            CU_ASSERT_EQUAL(ferry_net_set_range(net, ferry_blob_name(b), least, most), 0);
    }
}

static const float *output_of(ferry_net *net, int64_t *out_count)
{
    ferry_blob *y = ferry_net_blob_find(net, "y");

    *out_count = y ? ferry_blob_element_count(y) : 0;
    return y ? ferry_blob_host_data(y) : NULL;
}

/* The ratio of signal to noise of `got`, in dB; infinite if nothing differs. */
static double ratio(const float *want, const float *got, int64_t n)
{
    double signal = 0, noise = 0;
    int64_t i;

    for (i = 0; i < n; i++) {
        signal += (double)want[i] * (double)want[i];
        noise += ((double)want[i] - (double)got[i]) * ((double)want[i] - (double)got[i]);
    }
    return 10 * log10(signal / noise);
}

/* F32 with all blobs, and with the ranges of those, planned. */
struct both {
    ferry_net *real, *integer;
};

static struct both open_both(const char *text, bool floats)
{
    struct both b = { open_net(text, true, true), open_net(text, false, floats) };

    CU_ASSERT_EQUAL(ferry_net_share(b.integer, b.real), 0);
    fill(b.real);
    fill(b.integer);
    CU_ASSERT_EQUAL(ferry_net_forward(b.real, NULL), 0);
    take_ranges(b.integer, b.real);
    return b;
}

static void close_both(struct both b)
{
    ferry_net_close(b.integer);
    ferry_net_close(b.real);
}

/* Forward; the ratio of the output. */
static double run(struct both b)
{
    int64_t n, m;
    const float *want = output_of(b.real, &n), *got;

    CU_ASSERT_EQUAL(ferry_net_forward(b.integer, NULL), 0);
    got = output_of(b.integer, &m);
    CU_ASSERT_EQUAL_FATAL(n, m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    CU_ASSERT_PTR_NOT_NULL_FATAL(got);
    return ratio(want, got, n);
}

/* Whether the device multiplies bytes: one convolution differs from F32. */
static bool has_integers(void)
{
    struct both b = open_both(patterns[0].text, false);
    double db = run(b);

    close_both(b);
    if (db > 100)
        ferry_test_skip("%s", "the device has no products of bytes");
    return db <= 100;
}

static void integer_nets_are_close_to_f32(void)
{
    size_t i;

    if (!has_integers())
        return;
    for (i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct both b = open_both(patterns[i].text, false);
        double db = run(b);

        if (!(db >= patterns[i].least && db < 80))
            printf("    %s: %.1f dB\n", patterns[i].name, db);
        CU_ASSERT(db >= patterns[i].least && db < 80);
        CU_ASSERT_DOUBLE_EQUAL(run(b), db, 1e-9); /* a second pass is the first */
        close_both(b);
    }
}

/* With the roundings of x, at most s/2, and of the weights of output o, at most r/2. */
static void one_product_is_within_its_bound(void)
{
    struct both b;
    ferry_blob *w;
    const float *x, *weights, *want, *got;
    int64_t n, i, k;
    float most = 0;

    if (!has_integers())
        return;
    b = open_both(LAYER("in", "Input", "", "x", "input_param { shape { dim: 3 dim: 77 } }")
                      LAYER("i", "InnerProduct", "bottom: 'x'", "y",
                            "inner_product_param { num_output: 35 " FILL " }"),
                  false);
    run(b);
    w = ferry_net_param_at(b.real, 1, 0);
    weights = ferry_blob_host_data(w);
    x = ferry_blob_host_data(ferry_net_blob_find(b.real, "x"));
    want = output_of(b.real, &n);
    got = output_of(b.integer, &n);
    for (i = 0; i < 3 * 77; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (i = 0; i < n; i++) {
        const float *row = weights + i % 35 * 77, *in = x + i / 35 * 77;
        double s = (double)most / 127, r = 0, bound = 1e-5;

        for (k = 0; k < 77; k++)
            r = fmax(r, fabs((double)row[k]) / 127);
        for (k = 0; k < 77; k++)
            bound += fabs((double)row[k]) * s / 2 + fabs((double)in[k]) * r / 2 + s * r / 4;
        CU_ASSERT(fabs((double)got[i] - (double)want[i]) <= bound);
    }
    close_both(b);
}

static void values_outside_a_range_are_clamped_to_its_bound(void)
{
    struct both b;
    const float *y;
    int64_t n, i;

    if (!has_integers())
        return;
    b = open_both(INPUT LAYER("c", "Convolution", "bottom: 'x'", "y",
                              "convolution_param { num_output: 32 kernel_size: 1 bias_term: false "
                              "weight_filler { type: 'constant' value: 1 } }"),
                  false);
    CU_ASSERT_EQUAL(ferry_net_set_range(b.integer, "x", 0, 0.125f), 0);
    run(b);
    y = output_of(b.integer, &n);
    for (i = 0; i < n; i++)
        CU_ASSERT(y[i] >= 0 && y[i] <= 1.1251f);
    close_both(b);
}

/* All values are then outside, and the output is that of zeros. */
static void a_range_too_small_for_steps_gives_numbers(void)
{
    const float bounds[][2] = { { -1e-43f, 1e-44f }, { 0, 1e-44f }, { -1e-44f, 1e-43f } };
    struct both b;
    const float *y;
    int64_t n, i;
    size_t k;

    if (!has_integers())
        return;
    b = open_both(INPUT CONV("c", "x", "y", "40", "3", ""), false);
    for (k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        CU_ASSERT_EQUAL(ferry_net_set_range(b.integer, "x", bounds[k][0], bounds[k][1]), 0);
        CU_ASSERT_EQUAL(ferry_net_forward(b.integer, NULL), 0);
        y = output_of(b.integer, &n);
        CU_ASSERT_PTR_NOT_NULL_FATAL(y);
        for (i = 0; i < n; i++)
            CU_ASSERT(isfinite(y[i]));
    }
    close_both(b);
}

static void ranges_can_be_ignored_and_removed(void)
{
    struct both b = open_both(patterns[1].text, true);
    int i;

    CU_ASSERT(run(b) > 100);
    close_both(b);
    b = open_both(patterns[1].text, false);
    for (i = 0; i < ferry_net_blob_count(b.real); i++)
        CU_ASSERT_EQUAL(ferry_net_set_range(b.integer,
                                            ferry_blob_name(ferry_net_blob_at(b.real, i)),
                                            -INFINITY, INFINITY),
                        0);
    CU_ASSERT(run(b) > 100);
    take_ranges(b.integer, b.real);
    CU_ASSERT(ferry_net_set_float_only(b.integer, "c", true) == 0 &&
              ferry_net_set_float_only(b.integer, "d", true) == 0 &&
              ferry_net_set_float_only(b.integer, "e", true) == 0);
    CU_ASSERT(run(b) > 100);
    close_both(b);
}

/* Its copy as integers would cost more than it gains. */
static void a_depthwise_convolution_that_reads_f32_stays_f32(void)
{
    struct both b = open_both(INPUT LAYER("t", "TanH", "bottom: 'x'", "a", "")
                                  CONV("d", "a", "y", "9", "3", "group: 9 pad: 1"),
                              false);

    CU_ASSERT(run(b) > 100);
    close_both(b);
}

static void new_weights_are_rounded_again(void)
{
    struct both b;
    ferry_blob *w;
    float *values;
    int64_t i;

    if (!has_integers())
        return;
    b = open_both(patterns[0].text, false);
    run(b);
    w = ferry_net_param_at(b.real, 1, 0);
    values = ferry_blob_mutable_host_data(w);
    for (i = 0; i < ferry_blob_element_count(w); i++)
        values[i] *= -3;
    CU_ASSERT_EQUAL(ferry_net_forward(b.real, NULL), 0);
    CU_ASSERT(run(b) >= 30);
    close_both(b);
}

#define BRANCHES                                                                               \
    INPUT CONV("c", "x", "a", "32", "1", "") RELU("r", "a") CONV("d", "a", "b", "33", "1", "") \
        CONV("e", "a", "c", "20", "3", "pad: 1") LAYER("j", "Concat", PAIR("b", "c"), "j", "")
#define NORMALISED                                                             \
    LAYER("n", "Scale", "bottom: 'j'", "n", "scale_param { bias_term: true }") \
    RELU("t", "n") CONV("f", "n", "y", "17", "1", "")

/* The ratio with these ranges of blobs instead of those that the net needs. */
static double run_with(const char *text, const char *const *names, const float *most)
{
    struct both b = open_both(text, false);
    double db;
    int i;

    for (i = 0; names[i]; i++)
        CU_ASSERT_EQUAL(ferry_net_set_range(b.integer, names[i], -most[i], most[i]), 0);
    db = run(b);
    close_both(b);
    return db;
}

/* Stored as integers, they are clamped to a range that is too small. */
static void values_that_only_scales_and_averages_read_are_integers(void)
{
    static const char *const joined[] = { "b", "c", "j", NULL }, *const pooled[] = { "a", NULL };
    static const float small[] = { 0.01f, 0.01f, 0.01f };

    if (!has_integers())
        return;
    CU_ASSERT(run_with(BRANCHES NORMALISED, joined, small) < 10);
    CU_ASSERT(run_with(INPUT CONV("c", "x", "a", "32", "3", "")
                           LAYER("p", "Pooling", "bottom: 'a'", "p",
                                 "pooling_param { pool: AVE kernel_size: 2 }")
                               CONV("d", "p", "y", "40", "1", ""),
                       pooled, small) < 10);
}

/* So are those of parts whose ranges differ much: the common scale would cost too many bits. */
static void values_that_others_read_stay_f32(void)
{
    static const char *const joined[] = { "b", "c", "j", NULL };
    static const float small[] = { 0.01f, 0.01f, 0.01f }, wide[] = { 0.01f, 1e4f, 1e4f };

    if (!has_integers())
        return;
    CU_ASSERT(run_with(BRANCHES LAYER("h", "TanH", "bottom: 'j'", "z", "") NORMALISED, joined,
                       small) > 25);
    CU_ASSERT(run_with(BRANCHES NORMALISED, joined, wide) > 25);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(integer_nets_are_close_to_f32),
    FERRY_TEST(one_product_is_within_its_bound),
    FERRY_TEST(values_outside_a_range_are_clamped_to_its_bound),
    FERRY_TEST(a_range_too_small_for_steps_gives_numbers),
    FERRY_TEST(ranges_can_be_ignored_and_removed),
    FERRY_TEST(a_depthwise_convolution_that_reads_f32_stays_f32),
    FERRY_TEST(new_weights_are_rounded_again),
    FERRY_TEST(values_that_only_scales_and_averages_read_are_integers),
    FERRY_TEST(values_that_others_read_stay_f32),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "nets with integers", cases,
                                    FERRY_TEST_COUNT(cases));
}
