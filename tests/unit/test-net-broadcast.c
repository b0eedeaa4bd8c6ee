/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two-bottom Bias and Scale after a Convolution, Deconvolution or InnerProduct, where one operand
 * is smaller than the other and is broadcast. The expected values come from Caffe's definitions, by
 * plain loops.
 */
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT(name, shape)                                                                        \
    "layer { name: '" name "' type: 'Input' top: '" name "' input_param { shape { " shape " } } " \
    "}\n"
#define X                INPUT("x", "dim: 2 dim: 3 dim: 5 dim: 4")
#define HOST(type, more) "layer { name: 'h' type: '" type "' bottom: 'x' top: 'h' " more " }\n"
#define CONV \
    HOST("Convolution", "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }")
#define POINT \
    HOST("Convolution", "convolution_param { num_output: 4 kernel_h: 5 kernel_w: 4 }")
#define DECONV \
    HOST("Deconvolution", "convolution_param { num_output: 4 kernel_size: 2 stride: 2 }")
#define IP(n)            HOST("InnerProduct", "inner_product_param { num_output: " n " }")
#define JOIN(type, big, small, top, more)                                                 \
    "layer { name: 'j' type: '" type "' bottom: '" big "' bottom: '" small "' top: '" top \
    "' " more " }\n"
#define RELU "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' }\n"

enum host { CONVOLUTION, DECONVOLUTION, INNER_PRODUCT };

/* y = big ⊕ small. Element i meets element i / inner % wide of the smaller operand. */
struct pattern {
    const char *name, *text;
    enum host host;
    int kernel_h, kernel_w, pad, stride;
    int64_t wide, inner;
    bool host_is_small, product, relu;
};

static const struct pattern patterns[] = {
    { "convolution + one element a channel",
      X INPUT("u", "dim: 4") CONV JOIN("Bias", "h", "u", "y", ""), CONVOLUTION, 3, 3, 1, 1, 4, 20,
      false, false, false },
    { "convolution + one element a channel, in place, relu",
      X INPUT("u", "dim: 4") CONV JOIN(
          "Bias", "h", "u", "h", "") "layer { name: 'r' type: 'ReLU' bottom: 'h' top: 'y' }\n",
      CONVOLUTION, 3, 3, 1, 1, 4, 20, false, false, true },
    { "convolution + one element an image and channel",
      X INPUT("u", "dim: 2 dim: 4") CONV JOIN("Bias", "h", "u", "y", "bias_param { axis: 0 }"),
      CONVOLUTION, 3, 3, 1, 1, 8, 20, false, false, false },
    { "convolution + one element a pixel, relu",
      X INPUT("u", "dim: 5 dim: 4") CONV JOIN("Bias", "h", "u", "y", "bias_param { axis: 2 }") RELU,
      CONVOLUTION, 3, 3, 1, 1, 20, 1, false, false, true },
    { "convolution + all",
      X INPUT("u", "dim: 2 dim: 4 dim: 5 dim: 4")
          CONV JOIN("Bias", "h", "u", "y", "bias_param { axis: 0 }"),
      CONVOLUTION, 3, 3, 1, 1, 160, 1, false, false, false },
    { "convolution x one element an image and channel",
      X INPUT("u", "dim: 2 dim: 4") CONV JOIN("Scale", "h", "u", "y", "scale_param { axis: 0 }"),
      CONVOLUTION, 3, 3, 1, 1, 8, 20, false, true, false },
    { "deconvolution + one element a channel",
      X INPUT("u", "dim: 4") DECONV JOIN("Bias", "h", "u", "y", ""), DECONVOLUTION, 2, 2, 0, 2, 4,
      80, false, false, false },
    { "inner product + one element a column",
      X INPUT("u", "dim: 7") IP("7") JOIN("Bias", "h", "u", "y", ""), INNER_PRODUCT, 0, 0, 0, 0, 7,
      1, false, false, false },
    { "inner product + one element a row",
      X INPUT("u", "dim: 2") IP("7") JOIN("Bias", "h", "u", "y", "bias_param { axis: 0 }"),
      INNER_PRODUCT, 0, 0, 0, 0, 2, 7, false, false, false },
    { "an image + an inner product",
      X INPUT("u", "dim: 2 dim: 4 dim: 5 dim: 4") IP("4")
          JOIN("Bias", "u", "h", "y", "bias_param { axis: 0 }"),
      INNER_PRODUCT, 0, 0, 0, 0, 8, 20, true, false, false },
    { "an image x an inner product, relu",
      X INPUT("u", "dim: 2 dim: 4 dim: 5 dim: 4") IP("4")
          JOIN("Scale", "u", "h", "y", "scale_param { axis: 0 }") RELU,
      INNER_PRODUCT, 0, 0, 0, 0, 8, 20, true, true, true },
    { "an image + a convolution of one pixel",
      X INPUT("u", "dim: 2 dim: 4 dim: 1 dim: 1 dim: 6")
          POINT JOIN("Bias", "u", "h", "y", "bias_param { axis: 0 }"),
      CONVOLUTION, 5, 4, 0, 1, 8, 6, true, false, false },
    { "an image + a deconvolution",
      X INPUT("u", "dim: 2 dim: 4 dim: 10 dim: 8 dim: 2")
          DECONV JOIN("Bias", "u", "h", "y", "bias_param { axis: 0 }") RELU,
      DECONVOLUTION, 2, 2, 0, 2, 640, 2, true, false, true },
};

/* ---- expected values ------------------------------------------------------------------------- */

static double weight_of(const float *w, const struct pattern *t, int64_t a, int64_t b, int64_t n_b,
                        int i, int k)
{
    return (double)w[((a * n_b + b) * t->kernel_h + i) * t->kernel_w + k];
}

/* h (2, 4, …) of x (2, 3, 5, 4) and w (4, 3, …). */
static void convolve(const struct pattern *t, const float *x, const float *w, const float *bias,
                     double *h)
{
    int height = 5 + 2 * t->pad - t->kernel_h + 1, width = 4 + 2 * t->pad - t->kernel_w + 1;

    for (int64_t n = 0; n < 2; n++)
        for (int64_t o = 0; o < 4; o++)
            for (int r = 0; r < height; r++)
                for (int s = 0; s < width; s++) {
                    double sum = (double)bias[o];

                    for (int64_t c = 0; c < 3; c++)
                        for (int i = 0; i < t->kernel_h; i++)
                            for (int k = 0; k < t->kernel_w; k++) {
                                int at_r = r + i - t->pad, at_s = s + k - t->pad;

                                if (at_r >= 0 && at_r < 5 && at_s >= 0 && at_s < 4)
                                    sum += (double)x[((n * 3 + c) * 5 + at_r) * 4 + at_s] *
                                           weight_of(w, t, o, c, 3, i, k);
                            }
                    *h++ = sum;
                }
}

/* h (2, 4, 10, 8) of x and w (3, 4, 2, 2): each element of x writes a window of its own. */
static void deconvolve(const struct pattern *t, const float *x, const float *w, const float *bias,
                       double *h)
{
    for (int64_t n = 0; n < 2; n++)
        for (int64_t o = 0; o < 4; o++)
            for (int r = 0; r < 10; r++)
                for (int s = 0; s < 8; s++) {
                    double sum = (double)bias[o];

                    for (int64_t c = 0; c < 3; c++)
                        sum += (double)x[((n * 3 + c) * 5 + r / 2) * 4 + s / 2] *
                               weight_of(w, t, c, o, 4, r % 2, s % 2);
                    *h++ = sum;
                }
}

static void multiply(const float *x, const float *w, const float *bias, int64_t outputs, double *h)
{
    for (int64_t n = 0; n < 2; n++)
        for (int64_t o = 0; o < outputs; o++) {
            double sum = (double)bias[o];

            for (int64_t k = 0; k < 60; k++)
                sum += (double)x[n * 60 + k] * (double)w[o * 60 + k];
            *h++ = sum;
        }
}

static double *host_values(const struct pattern *t, ferry_net *net, int layer)
{
    const float *x = ferry_blob_host_data(ferry_net_blob_find(net, "x"));
    const float *w = ferry_blob_host_data(ferry_net_param_at(net, layer, 0));
    const float *bias = ferry_blob_host_data(ferry_net_param_at(net, layer, 1));
    double *h = calloc(1024, sizeof *h);

    CU_ASSERT_PTR_NOT_NULL_FATAL(h);
    if (t->host == CONVOLUTION)
        convolve(t, x, w, bias, h);
    else if (t->host == DECONVOLUTION)
        deconvolve(t, x, w, bias, h);
    else
        multiply(x, w, bias, ferry_blob_dim(ferry_net_param_at(net, layer, 0), 0), h);
    return h;
}

static double worst_difference(const struct pattern *t, ferry_net *net)
{
    const ferry_blob *top = ferry_net_blob_find(net, "y");
    const float *y = ferry_blob_host_data(top),
                *u = ferry_blob_host_data(ferry_net_blob_find(net, "u"));
    double *h = host_values(t, net, 2), worst = 0;

    for (int64_t i = 0; i < ferry_blob_element_count(top); i++) {
        int64_t k = i / t->inner % t->wide;
        double big = t->host_is_small ? (double)u[i] : h[i];
        double small = t->host_is_small ? h[k] : (double)u[k];
        double z = t->product ? big * small : big + small;

        worst = fmax(worst, fabs((double)y[i] - (t->relu && z < 0 ? 0 : z)));
        if (isnan(y[i]))
            worst = HUGE_VAL;
    }
    free(h);
    return worst;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void fill(ferry_blob *b, unsigned *state)
{
    float *to = ferry_blob_overwrite_host_data(b);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < ferry_blob_element_count(b); i++) {
        *state = *state * 1664525u + 1013904223u;
        to[i] = (float)(*state >> 8) / (float)(1 << 23) - 1;
    }
}

static void check(const struct pattern *t, int fuse, int plan)
{
    ferry_net_options o = { .struct_size = sizeof o,
                            .text = t->text,
                            .text_size = strlen(t->text) };
    ferry_net *net = NULL;
    unsigned state = 11;
    double worst;

    o.no_fuse = fuse < 0;
    o.no_plan = plan < 0;
    FX_OK(ferry_net_open(fx_device(), "net.prototxt", &o, &net));
    CU_ASSERT_PTR_NOT_NULL_FATAL(net);
    for (int k = 0; k < 2; k++)
        fill(ferry_net_param_at(net, 2, k), &state);
    for (int k = 0; k < 2; k++)
        fill(ferry_net_input_at(net, k), &state);
    FX_OK(ferry_net_forward(net, NULL));
    worst = worst_difference(t, net);
    if (worst > 1e-4)
        printf("     %s, fuse %d, plan %d: off by %g\n", t->name, fuse, plan, worst);
    CU_ASSERT(worst <= 1e-4);
    ferry_net_close(net);
    fx_end();
}

static void a_smaller_operand_is_broadcast_as_in_caffe(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(patterns); i++)
        for (int fuse = -1; fuse <= 0; fuse++)
            for (int plan = -1; plan <= 0; plan++)
                check(&patterns[i], fuse, plan);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_smaller_operand_is_broadcast_as_in_caffe),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net broadcast", cases, FERRY_TEST_COUNT(cases));
}
