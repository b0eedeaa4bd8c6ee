/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fixture.h"
#include "oom.h"

#include <ferry/net.h>
#include <ferry/net_info.h>
#include <ferry/net_ranges.h>
#include <ferry/solver.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * fake_quantize: the rounded net equals the net with integers of 8 bits, its gradients are those of
 * the straight-through estimator, and what it saves is an ordinary net with ranges.
 */

#define LAYER(name, type, bottoms, top, more) \
    "layer { name: '" name "' type: '" type "' " bottoms " top: '" top "' " more " }\n"
#define INPUT(shape) LAYER("in", "Input", "", "x", "input_param { shape { " shape " } }")
#define IMAGES       INPUT("dim: 2 dim: 9 dim: 13 dim: 11")
#define FILL         "weight_filler { type: 'msra' } bias_filler { type: 'gaussian' std: 0.2 }"
#define CONV(name, bottom, top, outputs, kernel, more)                                         \
    LAYER(name, "Convolution", "bottom: '" bottom "'", top,                                    \
          "convolution_param { num_output: " outputs " kernel_size: " kernel " " more " " FILL \
          " }")
#define RELU(name, blob, slope) \
    LAYER(name, "ReLU", "bottom: '" blob "'", blob, "relu_param { negative_slope: " slope " }")
#define INNER(bottom, more)                      \
    LAYER("i", "InnerProduct", "bottom: '" bottom "'", "y", \
          "inner_product_param { num_output: 10 " more " " FILL " }")
#define PAIR(a, b) "bottom: '" a "' bottom: '" b "'"

static const char *const texts[] = {
    IMAGES CONV("c", "x", "a", "40", "3", "pad: 1") RELU("r", "a", "0")
        CONV("d", "a", "x_quantized", "33", "1", "") RELU("s", "x_quantized", "0")
            CONV("x_fake_quantize", "x_quantized", "y", "20", "3", ""), /* names as inserted ones */
    /* negative values: with a zero point, and without one where a reader pads */
    IMAGES CONV("c", "x", "a", "40", "3", "") RELU("r", "a", "0.05")
        CONV("d", "a", "b", "33", "3", "pad: 1") RELU("s", "b", "0.05")
            CONV("e", "b", "y", "20", "1", ""),
    /* a class of two branches */
    IMAGES CONV("c", "x", "a", "32", "1", "") RELU("r", "a", "0") CONV("d", "a", "b", "33", "1", "")
        RELU("s", "b", "0") CONV("e", "a", "c", "20", "3", "pad: 1") RELU("t", "c", "0")
            LAYER("j", "Concat", PAIR("b", "c"), "j", "") CONV("f", "j", "y", "17", "1", ""),
    IMAGES CONV("c", "x", "a", "32", "1", "") RELU("r", "a", "0")
        CONV("d", "a", "b", "32", "3", "pad: 1") LAYER("j", "Eltwise", PAIR("a", "b"), "j", "")
            RELU("s", "j", "0") CONV("f", "j", "y", "17", "1", ""),
    IMAGES CONV("c", "x", "a", "32", "3", "") RELU("r", "a", "0")
        LAYER("p", "Pooling", "bottom: 'a'", "p", "pooling_param { kernel_size: 3 stride: 2 }")
            CONV("d", "p", "b", "40", "1", "") RELU("s", "b", "0")
                LAYER("q", "Pooling", "bottom: 'b'", "q",
                      "pooling_param { pool: AVE kernel_size: 2 stride: 2 }") INNER("q", ""),
    IMAGES CONV("c", "x", "a", "32", "3", "") RELU("r", "a", "0")
        LAYER("o", "Dropout", "bottom: 'a'", "a", "") LAYER("f", "Flatten", "bottom: 'a'", "f", "")
            INNER("f", "transpose: true"),
    /* a factor for each output, which is folded into the weights, commutes with their rounding */
    IMAGES CONV("c", "x", "a", "40", "3", "pad: 1")
        LAYER("s", "Scale", "bottom: 'a'", "a", "scale_param { bias_term: true }")
            RELU("r", "a", "0") CONV("e", "a", "y", "20", "3", ""),
    /* layers in place that change what layers before them only moved */
    IMAGES CONV("c", "x", "a", "40", "3", "")
        LAYER("p", "Pooling", "bottom: 'a'", "p", "pooling_param { kernel_size: 2 stride: 2 }")
            LAYER("s", "Sigmoid", "bottom: 'p'", "p", "") CONV("e", "p", "y", "40", "1", ""),
    /* an input with another shape */
    IMAGES LAYER("f", "Flatten", "bottom: 'x'", "f", "") LAYER(
        "j", "InnerProduct", "bottom: 'f'", "a", "inner_product_param { num_output: 64 " FILL " }")
        RELU("r", "a", "0") INNER("a", ""),
    /* an average of an average; nothing reads the maximum */
    IMAGES CONV("c", "x", "a", "40", "1", "") LAYER(
        "p", "Pooling", "bottom: 'a'", "p", "pooling_param { pool: AVE kernel_size: 2 }")
        LAYER("m", "Pooling", "bottom: 'a'", "m", "pooling_param { kernel_size: 2 }")
            LAYER("q", "Pooling", "bottom: 'p'", "q", "pooling_param { pool: AVE kernel_size: 2 }")
                CONV("e", "q", "y", "40", "1", ""),
};

static ferry_device *dev; /* of the case */

enum how { REAL, INTEGERS, ROUNDED, TRAINED };

static ferry_net *open_net(const char *text, enum how how)
{
    static const char *const all[] = { "*" };
    ferry_net_options o = { .struct_size = sizeof o,
                            .phase = how == TRAINED ? FERRY_PHASE_TRAIN : FERRY_PHASE_TEST,
                            .text = text,
                            .text_size = strlen(text),
                            .seed = 5,
                            .precision = FERRY_PRECISION_F32,
                            .keep = all,
                            .keep_count = how == REAL,
                            .ignore_quantization = how == REAL,
                            .fake_quantize = how == ROUNDED || how == TRAINED };
    ferry_net *net = NULL;

    CU_ASSERT_EQUAL_FATAL(ferry_net_open(dev, "net", &o, &net), 0);
    return net;
}

static void fill(ferry_net *net)
{
    ferry_blob *x = ferry_net_blob_find(net, "x");
    float *values = ferry_blob_overwrite_host_data(x);

    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (int64_t i = 0; i < ferry_blob_element_count(x); i++)
        values[i] = (float)(i * 7919 % 1009) / 1009 * 2 - 0.7f;
}

/* Sets the ranges of all blobs of `net` to what `from` holds, times a factor. */
static void take_ranges(ferry_net *net, const ferry_net *from, float factor)
{
    for (int i = 0; i < ferry_net_blob_count(from); i++) {
        ferry_blob *b = ferry_net_blob_at(from, i);
        const float *v = b ? ferry_blob_host_data(b) : NULL;
        float least = INFINITY, most = -INFINITY;

        for (int64_t k = 0; v && k < ferry_blob_element_count(b); k++) {
            least = fminf(least, v[k]);
            most = fmaxf(most, v[k]);
        }
        if (v && !strstr(ferry_blob_name(b), "_split"))
            FX_OK(ferry_net_set_range(net, ferry_blob_name(b), factor * least, factor * most));
    }
}

static const float *run(ferry_net *net, int64_t *out_count)
{
    ferry_blob *y = ferry_net_blob_find(net, "y");

    fill(net);
    FX_OK(ferry_net_forward(net, NULL));
    *out_count = ferry_blob_element_count(y);
    return ferry_blob_host_data(y);
}

/* The ratio of signal to noise, in dB. */
static double ratio(const float *want, const float *got, int64_t n)
{
    double signal = 0, noise = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        signal += (double)want[i] * (double)want[i];
        noise += ((double)want[i] - (double)got[i]) * ((double)want[i] - (double)got[i]);
    }
    return 10 * log10(signal / noise);
}

/* Whether each product of the net is computed with integers. */
static bool has_integers(const ferry_net *net)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        FX_OK(ferry_net_get_layer_info(net, i, &info));
        if (!strcmp(info.precision, "f32"))
            return false;
    }
    return true;
}

/* With ranges that fit, and with ranges that clip. */
static void compare(const char *text, float factor, int *out_compared)
{
    ferry_net *nets[4];
    const float *y[4];
    int64_t n[4];

    for (int i = REAL; i <= TRAINED; i++) {
        nets[i] = open_net(text, (enum how)i);
        FX_OK(ferry_net_share(nets[i], nets[REAL]));
        y[i] = run(nets[i], &n[i]);
        if (i == REAL)
            continue;
        take_ranges(nets[i], nets[REAL], factor);
        y[i] = run(nets[i], &n[i]);
        CU_ASSERT_FATAL(y[i] && y[REAL] && n[i] == n[REAL]);
    }
    if (strstr(text, "Dropout") == NULL)
        CU_ASSERT(ratio(y[ROUNDED], y[TRAINED], n[0]) > 60);
    CU_ASSERT(ratio(y[REAL], y[ROUNDED], n[0]) < 45);
    if (has_integers(nets[INTEGERS])) {
        double db = ratio(y[INTEGERS], y[ROUNDED], n[0]);

        ++*out_compared;
        if (db < 60)
            printf("    %.0f dB, and %.0f from F32: %s\n", db, ratio(y[REAL], y[ROUNDED], n[0]),
                   text);
        CU_ASSERT(db >= 60);
    }
    for (int i = REAL; i <= TRAINED; i++)
        ferry_net_close(nets[i]);
}

static void the_rounded_net_equals_that_with_integers(void)
{
    int compared = 0;

    dev = fx_device();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        compare(texts[i], 1, &compared);
        compare(texts[i], 0.5f, &compared);
    }
    if (!compared)
        printf("    the device computes no product with integers\n");
    fx_end();
}

/* ---- gradients ------------------------------------------------------------------------------- */

#define ITEMS   3
#define INPUTS  5
#define HIDDEN  4
#define OUTPUTS 2

static const char two[] =
    LAYER("in", "Input", "", "x' top: 't", "input_param { shape { dim: 3 dim: 5 } shape { dim: 3 "
                                           "dim: 2 } }")
    LAYER("h", "InnerProduct", "bottom: 'x'", "h", "inner_product_param { num_output: 4 " FILL " }")
    LAYER("r", "ReLU", "bottom: 'h'", "h", "")
    LAYER("y", "InnerProduct", "bottom: 'h'", "y", "inner_product_param { num_output: 2 " FILL " }")
    LAYER("l", "EuclideanLoss", PAIR("y", "t"), "l", "") "force_backward: true\n";

/* Inputs and parameters of the net, and the differences that rounding makes. */
struct point {
    double x[ITEMS * INPUTS], w[HIDDEN * INPUTS], b[HIDDEN], v[OUTPUTS * HIDDEN], c[OUTPUTS];
    double t[ITEMS * OUTPUTS];
    double dx[ITEMS * INPUTS], dw[HIDDEN * INPUTS], dh[ITEMS * HIDDEN], dv[OUTPUTS * HIDDEN];
};

/* Ranges, with values outside: x has the levels -113 to 142 of its step, h 0 to 255. */
#define LEAST_X -0.5
#define MOST_X  0.625
#define MOST_H  0.75
#define STEP_X ((double)(float)((MOST_X - LEAST_X) / 255))
#define STEP_H ((double)(float)(MOST_H / 255))

static double clipped(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* Rounds to whole multiples of a step, from `least` to `most` of them. */
static double rounded(double x, double step, double least, double most)
{
    return step * clipped(rint(x / step), least, most);
}

/*
 * The loss. With `fix` it stores the difference between rounded and clipped values; otherwise it
 * adds these constants, which is the function that the straight-through estimator differentiates.
 */
static double loss_of(struct point *p, bool fix)
{
    double sum = 0, h[HIDDEN];

    for (int n = 0; n < ITEMS; n++) {
        for (int j = 0; j < HIDDEN; j++) {
            double a = p->b[j], *dh = &p->dh[n * HIDDEN + j];

            for (int k = 0; k < INPUTS; k++) {
                double x = clipped(p->x[n * INPUTS + k], -113.5 * STEP_X, 142.5 * STEP_X);

                if (fix)
                    p->dx[n * INPUTS + k] = rounded(p->x[n * INPUTS + k], STEP_X, -113, 142) - x;
                a += (p->w[j * INPUTS + k] + p->dw[j * INPUTS + k]) * (x + p->dx[n * INPUTS + k]);
            }
            a = a > 0 ? a : 0;
            h[j] = clipped(a, 0, 255.5 * STEP_H);
            if (fix)
                *dh = rounded(a, STEP_H, 0, 255) - h[j];
            h[j] += *dh;
        }
        for (int o = 0; o < OUTPUTS; o++) {
            double y = p->c[o];

            for (int j = 0; j < HIDDEN; j++)
                y += (p->v[o * HIDDEN + j] + p->dv[o * HIDDEN + j]) * h[j];
            y -= p->t[n * OUTPUTS + o];
            sum += y * y;
        }
    }
    return sum / (2 * ITEMS);
}

static void round_rows(const double *w, double *difference, int rows, int each)
{
    for (int i = 0; i < rows; i++) {
        double most = 0;

        for (int k = 0; k < each; k++)
            most = fmax(most, fabs(w[i * each + k]));
        for (int k = 0; k < each; k++)
            difference[i * each + k] =
                rint(w[i * each + k] / most * 127) / 127 * most - w[i * each + k];
    }
}

static void read_blob(const ferry_blob *b, double *to)
{
    const float *v = ferry_blob_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++)
        to[i] = (double)v[i];
}

static void check_gradient(struct point *p, double *at, const ferry_blob *b)
{
    const float *diff = ferry_blob_host_diff(b);
    const double h = 1e-6;

    CU_ASSERT_PTR_NOT_NULL_FATAL(diff);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++) {
        double x = at[i], up, down;

        at[i] = x + h;
        up = loss_of(p, false);
        at[i] = x - h;
        down = loss_of(p, false);
        at[i] = x;
        if (fabs((up - down) / (2 * h) - (double)diff[i]) > 1e-4)
            printf("    %s[%d]: %g, not %g\n", ferry_blob_name(b), (int)i, (double)diff[i],
                   (up - down) / (2 * h));
        CU_ASSERT_DOUBLE_EQUAL((up - down) / (2 * h), (double)diff[i], 1e-4);
    }
}

static void set_inputs(ferry_net *net)
{
    float *x = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0));
    float *t = ferry_blob_overwrite_host_data(ferry_net_input_at(net, 1));

    CU_ASSERT_FATAL(x && t);
    for (int i = 0; i < ITEMS * INPUTS; i++)
        x[i] = (float)(i * 37 % 41) / 25 - 0.803f;
    for (int i = 0; i < ITEMS * OUTPUTS; i++)
        t[i] = (float)(i % 4) - 1.3f;
}

static void gradients_are_those_of_the_straight_through_estimator(void)
{
    struct point p = { 0 };
    ferry_net *net;
    int h = 0, y = 0;
    double loss;

    dev = fx_device();
    net = open_net(two, TRAINED);
    FX_OK(ferry_net_set_range(net, "x", (float)LEAST_X, (float)MOST_X));
    FX_OK(ferry_net_set_range(net, "h", 0, (float)MOST_H));
    set_inputs(net);
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        const char *name = ferry_layer_name(ferry_net_layer_at(net, i));

        h = strcmp(name, "h") ? h : i;
        y = strcmp(name, "y") ? y : i;
    }
    read_blob(ferry_net_input_at(net, 0), p.x);
    read_blob(ferry_net_input_at(net, 1), p.t);
    read_blob(ferry_net_param_at(net, h, 0), p.w);
    read_blob(ferry_net_param_at(net, h, 1), p.b);
    read_blob(ferry_net_param_at(net, y, 0), p.v);
    read_blob(ferry_net_param_at(net, y, 1), p.c);
    round_rows(p.w, p.dw, HIDDEN, INPUTS);
    round_rows(p.v, p.dv, OUTPUTS, HIDDEN);
    FX_OK(ferry_net_forward(net, &loss));
    CU_ASSERT_DOUBLE_EQUAL(loss_of(&p, true), loss, 1e-4);
    FX_OK(ferry_net_clear_param_diffs(net));
    FX_OK(ferry_net_backward(net));
    check_gradient(&p, p.w, ferry_net_param_at(net, h, 0));
    check_gradient(&p, p.b, ferry_net_param_at(net, h, 1));
    check_gradient(&p, p.v, ferry_net_param_at(net, y, 0));
    check_gradient(&p, p.c, ferry_net_param_at(net, y, 1));
    check_gradient(&p, p.x, ferry_net_input_at(net, 0));
    ferry_net_close(net);
    fx_end();
}

/* ---- ranges and files ------------------------------------------------------------------------ */

static bool differs(ferry_net *net, const float *from, int64_t n)
{
    int64_t m;
    const float *y = run(net, &m);

    CU_ASSERT_FATAL(y && m == n);
    return memcmp(y, from, (size_t)n * sizeof *y) != 0;
}

/* Backward passes through products of which some are not rounded. */
static void train_in_part(bool plan)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .phase = FERRY_PHASE_TRAIN,
                            .seed = 5,
                            .plan_training = plan,
                            .fake_quantize = true };
    static const char loss[] =
        LAYER("l", "Reduction", "bottom: 'y'", "l", "reduction_param { operation: SUMSQ }") //
        "force_backward: true";
    char text[4096];
    ferry_net *net = NULL;

    snprintf(text, sizeof text, "%s%s", texts[0], loss);
    o.text = text;
    o.text_size = strlen(text);
    FX_OK(ferry_net_open(dev, "net", &o, &net));
    FX_OK(ferry_net_set_range(net, "x", -1, 2));
    FX_OK(ferry_net_set_range(net, "a", 0, 2));
    FX_OK(ferry_net_set_range(net, "y", -9, 9)); /* b has none */
    for (int i = 0; i < 2; i++) {
        fill(net);
        FX_OK(ferry_net_forward(net, NULL));
        FX_OK(ferry_net_backward(net));
        FX_OK(ferry_net_set_float_only(net, "d", true));
    }
    ferry_net_close(net);
}

static void nets_that_are_rounded_in_part_are_trained(void)
{
    dev = fx_device();
    train_in_part(false);
    train_in_part(true);
    fx_end();
}

/* Also where a product reads the input in another shape. */
static void inputs_are_never_rounded_in_place(void)
{
    static const char text[] = INPUT("dim: 2 dim: 9 dim: 2 dim: 1") LAYER(
        "f", "Flatten", "bottom: 'x'", "f", "") INNER("f", "")
        CONV("c", "x", "z", "2", "1", "") LAYER("v", "AbsVal", "bottom: 'x'", "v", "");
    const float *x, *v;
    ferry_net *net;

    dev = fx_device();
    net = open_net(text, ROUNDED);
    FX_OK(ferry_net_set_range(net, "x", 0, 0.5f));
    FX_OK(ferry_net_set_range(net, "y", -3, 3));
    fill(net);
    FX_OK(ferry_net_forward(net, NULL));
    x = ferry_blob_host_data(ferry_net_blob_find(net, "x"));
    v = ferry_blob_host_data(ferry_net_blob_find(net, "v"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    CU_ASSERT_EQUAL(x[0], -0.7f);
    CU_ASSERT_EQUAL(v[0], 0.7f);
    ferry_net_close(net);
    fx_end();
}

static void without_ranges_and_in_float_layers_nothing_is_rounded(void)
{
    ferry_net *real, *net;
    const float *want;
    int64_t n;

    dev = fx_device();
    real = open_net(texts[0], REAL);
    net = open_net(texts[0], TRAINED);
    want = run(real, &n);
    CU_ASSERT(!differs(net, want, n));
    FX_OK(ferry_net_set_range(net, "x", -1, 2));
    CU_ASSERT(differs(net, want, n));
    FX_OK(ferry_net_set_float_only(net, "c", true));
    CU_ASSERT(!differs(net, want, n));
    FX_OK(ferry_net_set_float_only(net, "c", false));
    CU_ASSERT(differs(net, want, n));
    FX_OK(ferry_net_set_range(net, "x", -INFINITY, INFINITY));
    CU_ASSERT(!differs(net, want, n));
    ferry_net_close(real);
    ferry_net_close(net);
    fx_end();
}

static void a_saved_net_has_ranges_and_no_more_layers(void)
{
    ferry_net *net, *again, *saved = NULL;
    char path[] = "/tmp/ferry-fake-XXXXXX.caffemodel";
    float least, most;
    int file = mkstemps(path, 11);

    dev = fx_device();
    net = open_net(texts[0], TRAINED);
    again = open_net(texts[0], TRAINED);
    CU_ASSERT_FATAL(file >= 0);
    close(file);
    FX_OK(ferry_net_set_range(net, "a", 0, 3));
    FX_OK(ferry_net_save(net, path, FERRY_IO_CAFFEMODEL));
    FX_OK(ferry_net_load(again, path, NULL));
    FX_OK(ferry_net_get_range(again, "a", &least, &most));
    CU_ASSERT(least == 0 && most == 3);
    FX_OK(ferry_net_open(dev, path, NULL, &saved));
    for (int i = 0; i < ferry_net_layer_count(saved); i++)
        CU_ASSERT(strcmp(ferry_layer_get_type(ferry_net_layer_at(saved, i))->name, "FakeQuantize"));
    FX_OK(ferry_net_get_range(saved, "a", &least, &most));
    CU_ASSERT(least == 0 && most == 3);
    unlink(path);
    ferry_net_close(saved);
    ferry_net_close(again);
    ferry_net_close(net);
    fx_end();
}

static void a_solver_without_ranges_is_refused(void)
{
    const char text[] =
        "base_lr: 0.1 lr_policy: 'fixed' max_iter: 2 snapshot_after_train: false net_param { "
        LAYER("in", "DummyData", "", "x' top: 't",
              "dummy_data_param { shape { dim: 2 dim: 5 } shape { dim: 2 dim: 2 } }")
        LAYER("y", "InnerProduct", "bottom: 'x'", "y",
              "inner_product_param { num_output: 2 " FILL " }")
        LAYER("l", "EuclideanLoss", PAIR("y", "t"), "l", "") " }";
    ferry_solver_options o = { .struct_size = sizeof o,
                               .text = text,
                               .text_size = sizeof text - 1,
                               .fake_quantize = true };
    ferry_solver *s = NULL;

    dev = fx_device();
    FX_OK(ferry_solver_open(dev, "solver", &o, &s));
    CU_ASSERT_EQUAL(ferry_solver_step(s, 1), FERRY_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "ferry quantize"));
    FX_OK(ferry_net_set_range(ferry_solver_net(s), "x", -1, 1));
    FX_OK(ferry_solver_step(s, 1));
    ferry_solver_close(s);
    o.text = "base_lr: 0.1 lr_policy: 'fixed' snapshot_format: HDF5 net_param { }";
    o.text_size = strlen(o.text);
    CU_ASSERT_EQUAL(ferry_solver_open(dev, "solver", &o, &s), FERRY_EINVAL);
    fx_end();
}

/* ---- failing allocations --------------------------------------------------------------------- */

static int open_and_run(ferry_net **out)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .phase = FERRY_PHASE_TRAIN,
                            .text = two,
                            .text_size = strlen(two),
                            .fake_quantize = true };
    int err = ferry_net_open(dev, "net", &o, out);

    if (!err)
        err = ferry_net_set_range(*out, "x", -1, 1);
    if (!err)
        err = ferry_net_set_range(*out, "h", 0, 1);
    if (!err)
        err = ferry_net_forward(*out, NULL);
    return err ? err : ferry_net_backward(*out);
}

static void every_allocation_may_fail(void)
{
    bool failed = true;
    unsigned n;

    dev = fx_device();
    for (n = 1; failed; n++) {
        ferry_net *net = NULL;
        int err;

        oom_arm(n);
        err = open_and_run(&net);
        failed = oom_disarm();
        CU_ASSERT(err == 0 || err == FERRY_ENOMEM);
        CU_ASSERT(!failed || err || net);
        if (net && err) {
            FX_OK(ferry_net_clear_param_diffs(net));
            FX_OK(ferry_net_forward(net, NULL));
            FX_OK(ferry_net_backward(net));
        }
        ferry_net_close(net);
    }
    CU_ASSERT(n > 50);
    fx_end();
}

static const ferry_test_case cases[] = {
    FERRY_TEST(the_rounded_net_equals_that_with_integers),
    FERRY_TEST(gradients_are_those_of_the_straight_through_estimator),
    FERRY_TEST(nets_that_are_rounded_in_part_are_trained),
    FERRY_TEST(inputs_are_never_rounded_in_place),
    FERRY_TEST(without_ranges_and_in_float_layers_nothing_is_rounded),
    FERRY_TEST(a_saved_net_has_ranges_and_no_more_layers),
    FERRY_TEST(a_solver_without_ranges_is_refused),
    FERRY_TEST(every_allocation_may_fail),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net fake quantize", cases,
                                    FERRY_TEST_COUNT(cases));
}
