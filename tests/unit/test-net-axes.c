/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Convolution, Deconvolution and Im2col over any number of spatial axes, forward and backward,
 * compared with Caffe's definition by plain loops.
 */
#include "fixture.h"

#include <ferry/net.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AXES 10

enum kind { CONVOLUTION, DECONVOLUTION, IM2COL };

/* A layer over `axes` spatial axes after `images` axes before the channels. */
struct pattern {
    const char *name;
    enum kind kind;
    int images, axes;
    int64_t image[2], channels, outputs, group, in[AXES], kernel[AXES], stride[AXES], pad[AXES],
        dilation[AXES];
    bool bias;
};

static const struct pattern patterns[] = {
    { "convolution, none",
      CONVOLUTION,
      1,
      0,
      { 3 },
      4,
      6,
      2,
      { 0 },
      { 0 },
      { 0 },
      { 0 },
      { 0 },
      true },
    { "convolution, none behind two axes of images",
      CONVOLUTION,
      2,
      0,
      { 2, 3 },
      4,
      5,
      1,
      { 0 },
      { 0 },
      { 0 },
      { 0 },
      { 0 },
      false },
    { "deconvolution, none",
      DECONVOLUTION,
      1,
      0,
      { 3 },
      4,
      6,
      2,
      { 0 },
      { 0 },
      { 0 },
      { 0 },
      { 0 },
      true },
    { "convolution, 3",
      CONVOLUTION,
      1,
      3,
      { 2 },
      2,
      3,
      1,
      { 4, 3, 5 },
      { 3, 2, 3 },
      { 1, 1, 2 },
      { 1, 0, 1 },
      { 1, 1, 1 },
      true },
    { "convolution, 4",
      CONVOLUTION,
      1,
      4,
      { 2 },
      4,
      6,
      2,
      { 4, 3, 5, 3 },
      { 3, 2, 3, 1 },
      { 1, 1, 2, 1 },
      { 1, 0, 1, 0 },
      { 1, 1, 1, 1 },
      true },
    { "convolution, 5, dilated",
      CONVOLUTION,
      1,
      5,
      { 2 },
      3,
      2,
      1,
      { 4, 3, 2, 3, 5 },
      { 2, 3, 1, 2, 2 },
      { 2, 1, 1, 1, 1 },
      { 1, 1, 0, 0, 2 },
      { 1, 1, 1, 2, 3 },
      true },
    { "convolution, 5 of one element",
      CONVOLUTION,
      1,
      5,
      { 2 },
      3,
      4,
      1,
      { 1, 1, 1, 1, 1 },
      { 1, 1, 1, 1, 1 },
      { 1, 1, 1, 1, 1 },
      { 0 },
      { 1, 1, 1, 1, 1 },
      true },
    { "convolution, 5 of one element, padded",
      CONVOLUTION,
      1,
      5,
      { 2 },
      3,
      4,
      1,
      { 1, 1, 1, 1, 1 },
      { 3, 3, 1, 1, 3 },
      { 1, 1, 1, 1, 1 },
      { 1, 1, 0, 0, 1 },
      { 1, 1, 1, 1, 1 },
      true },
    { "convolution, 9",
      CONVOLUTION,
      1,
      9,
      { 2 },
      2,
      2,
      1,
      { 2, 3, 2, 2, 2, 3, 2, 2, 2 },
      { 2, 2, 1, 2, 1, 2, 1, 2, 1 },
      { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      { 1, 0, 0, 0, 0, 0, 0, 1 },
      { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      true },
    { "convolution, 9, strided",
      CONVOLUTION,
      1,
      9,
      { 1 },
      2,
      2,
      1,
      { 3, 3, 3, 3, 3, 3, 3, 3, 3 },
      { 1, 1, 1, 1, 1, 1, 1, 1, 2 },
      { 2, 2, 2, 2, 2, 2, 2, 2, 1 },
      { 0 },
      { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      true },
    { "deconvolution, 4",
      DECONVOLUTION,
      1,
      4,
      { 2 },
      4,
      6,
      2,
      { 2, 3, 2, 3 },
      { 3, 2, 2, 1 },
      { 1, 2, 2, 1 },
      { 1, 0, 0, 0 },
      { 1, 1, 1, 1 },
      true },
    { "deconvolution, 5",
      DECONVOLUTION,
      1,
      5,
      { 2 },
      3,
      2,
      1,
      { 2, 3, 2, 1, 2 },
      { 2, 3, 1, 2, 2 },
      { 2, 1, 1, 1, 2 },
      { 0, 1, 0, 0, 0 },
      { 1, 1, 1, 2, 1 },
      false },
    { "im2col, 2 behind two axes of images",
      IM2COL,
      2,
      2,
      { 2, 3 },
      2,
      0,
      1,
      { 4, 3 },
      { 2, 3 },
      { 1, 1 },
      { 1, 1 },
      { 1, 1 },
      false },
    { "im2col, 4",
      IM2COL,
      1,
      4,
      { 2 },
      3,
      0,
      1,
      { 3, 2, 4, 3 },
      { 2, 1, 3, 2 },
      { 1, 1, 2, 1 },
      { 0, 0, 1, 1 },
      { 1, 1, 1, 2 },
      false },
    { "im2col, 5",
      IM2COL,
      1,
      5,
      { 1 },
      2,
      0,
      1,
      { 3, 2, 2, 3, 2 },
      { 2, 1, 2, 2, 2 },
      { 1, 1, 1, 1, 1 },
      { 0 },
      { 1, 1, 1, 1, 1 },
      false },
};

static int64_t product(const int64_t *n, int count)
{
    int64_t all = 1;

    for (int i = 0; i < count; i++)
        all *= n[i];
    return all;
}

/*
 * The image on which the kernel moves and the image of its positions: bottom and top, or top and
 * bottom of a deconvolution.
 */
static int64_t narrow_of(const struct pattern *t, int i)
{
    if (t->kind == DECONVOLUTION)
        return t->in[i];
    return (t->in[i] + 2 * t->pad[i] - t->dilation[i] * (t->kernel[i] - 1) - 1) / t->stride[i] + 1;
}

static int64_t wide_of(const struct pattern *t, int i)
{
    if (t->kind != DECONVOLUTION)
        return t->in[i];
    return t->stride[i] * (t->in[i] - 1) + t->dilation[i] * (t->kernel[i] - 1) + 1 - 2 * t->pad[i];
}

/*
 * The wide position of tap `tap` at the narrow position `p`, both counted row-major; −1 in the
 * padding.
 */
static int64_t place_of(const struct pattern *t, int64_t p, int64_t tap)
{
    int64_t at = 0, step = 1;

    for (int i = t->axes; i-- > 0;) {
        int64_t in =
            p % narrow_of(t, i) * t->stride[i] - t->pad[i] + tap % t->kernel[i] * t->dilation[i];

        p /= narrow_of(t, i);
        tap /= t->kernel[i];
        if (in < 0 || in >= wide_of(t, i))
            return -1;
        at += in * step;
        step *= wide_of(t, i);
    }
    return at;
}

/* Values and gradients. The gradient of the top is an input. */
struct values {
    const float *x, *w, *bias, *dy;
    double *y, *dx, *dw, *db;
};

struct sizes {
    int64_t images, narrow, wide, taps, top;
};

static struct sizes sizes_of(const struct pattern *t)
{
    struct sizes s = { product(t->image, t->images), 1, 1, product(t->kernel, t->axes), 0 };

    for (int i = 0; i < t->axes; i++) {
        s.narrow *= narrow_of(t, i);
        s.wide *= wide_of(t, i);
    }
    s.top = t->kind == DECONVOLUTION ? s.wide : s.narrow;
    return s;
}

/* One product of the sums: channel a of the narrow side with channel b of the wide one. */
static void meet(const struct pattern *t, const struct sizes *s, const struct values *v, int64_t n,
                 int64_t a, int64_t b, int64_t p, int64_t tap)
{
    bool back = t->kind == DECONVOLUTION;
    int64_t narrows = back ? t->channels : t->outputs, wides = back ? t->outputs : t->channels;
    int64_t at = place_of(t, p, tap),
            w = (a * (wides / t->group) + b % (wides / t->group)) * s->taps + tap;
    int64_t narrow = (n * narrows + a) * s->narrow + p, wide = (n * wides + b) * s->wide + at;
    int64_t x = back ? narrow : wide, y = back ? wide : narrow;

    if (at < 0)
        return;
    v->y[y] += (double)v->w[w] * (double)v->x[x];
    v->dx[x] += (double)v->w[w] * (double)v->dy[y];
    v->dw[w] += (double)v->x[x] * (double)v->dy[y];
}

static void convolve(const struct pattern *t, const struct values *v)
{
    struct sizes s = sizes_of(t);
    int64_t narrows = t->kind == DECONVOLUTION ? t->channels : t->outputs;
    int64_t wides = (t->kind == DECONVOLUTION ? t->outputs : t->channels) / t->group;

    for (int64_t i = 0; i < s.images * t->outputs * s.top; i++) {
        v->y[i] = t->bias ? (double)v->bias[i / s.top % t->outputs] : 0;
        v->db[i / s.top % t->outputs] += (double)v->dy[i];
    }
    for (int64_t n = 0; n < s.images; n++)
        for (int64_t a = 0; a < narrows; a++)
            for (int64_t b = 0; b < wides; b++)
                for (int64_t p = 0; p < s.narrow; p++)
                    for (int64_t tap = 0; tap < s.taps; tap++)
                        meet(t, &s, v, n, a, a / (narrows / t->group) * wides + b, p, tap);
}

static void take_columns(const struct pattern *t, const struct values *v)
{
    struct sizes s = sizes_of(t);

    for (int64_t i = 0; i < s.images * t->channels * s.taps * s.narrow; i++) {
        int64_t at = place_of(t, i % s.narrow, i / s.narrow % s.taps);
        int64_t x = i / s.narrow / s.taps * s.wide + at;

        v->y[i] = at < 0 ? 0 : (double)v->x[x];
        if (at >= 0)
            v->dx[x] += (double)v->dy[i];
    }
}

/* ---- nets ------------------------------------------------------------------------------------ */

static void add_list(char *text, const char *field, const int64_t *n, int count)
{
    for (int i = 0; i < count; i++)
        sprintf(text + strlen(text), " %s: %lld", field, (long long)n[i]);
}

static void write_text(const struct pattern *t, char *text)
{
    static const char *const types[] = { "Convolution", "Deconvolution", "Im2col" };

    strcpy(text,
           "force_backward: true\nlayer { name: 'in' type: 'Input' top: 'x' input_param { shape {");
    add_list(text, "dim", t->image, t->images);
    add_list(text, "dim", &t->channels, 1);
    add_list(text, "dim", t->in, t->axes);
    sprintf(text + strlen(text),
            " } } }\nlayer { name: 'l' type: '%s' bottom: 'x' top: 'y' loss_weight: 1 "
            "convolution_param {",
            types[t->kind]);
    add_list(text, "kernel_size", t->kernel, t->axes);
    add_list(text, "stride", t->stride, t->axes);
    add_list(text, "pad", t->pad, t->axes);
    add_list(text, "dilation", t->dilation, t->axes);
    if (!t->axes)
        strcat(text, " kernel_size: 1");
    sprintf(text + strlen(text), " axis: %d", t->images);
    if (t->kind != IM2COL)
        sprintf(text + strlen(text), " num_output: %d group: %d bias_term: %s", (int)t->outputs,
                (int)t->group, t->bias ? "true" : "false");
    strcat(text, " } }\n");
}

static void fill(float *to, int64_t n, unsigned seed)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

static double *zeros(const ferry_blob *b)
{
    double *n = calloc((size_t)ferry_blob_element_count(b) + 1, sizeof *n);

    CU_ASSERT_PTR_NOT_NULL_FATAL(n);
    return n;
}

static void compare(const struct pattern *t, const char *what, const float *got, double *want,
                    const ferry_blob *b)
{
    double worst = got ? 0 : HUGE_VAL;

    for (int64_t i = 0; got && i < ferry_blob_element_count(b); i++)
        if (!(fabs((double)got[i] - want[i]) <= worst))
            worst = fabs((double)got[i] - want[i]);
    if (!(worst < 1e-3))
        printf("     %s: %s is off by %g\n", t->name, what, worst);
    CU_ASSERT(worst < 1e-3);
}

static void check_top(const struct pattern *t, const ferry_blob *top)
{
    int64_t channels = t->kind == IM2COL ? t->channels * product(t->kernel, t->axes) : t->outputs;

    CU_ASSERT_EQUAL_FATAL(ferry_blob_rank(top), t->images + 1 + t->axes);
    CU_ASSERT_EQUAL_FATAL(ferry_blob_dim(top, t->images), channels);
    for (int i = 0; i < t->axes; i++)
        CU_ASSERT_EQUAL_FATAL(ferry_blob_dim(top, t->images + 1 + i),
                              t->kind == DECONVOLUTION ? wide_of(t, i) : narrow_of(t, i));
}

static void compute(const struct pattern *t, ferry_net *net, bool backward)
{
    ferry_blob *x = ferry_net_input_at(net, 0), *y = ferry_net_blob_find(net, "y");
    ferry_blob *w = ferry_net_param_at(net, 1, 0), *bias = ferry_net_param_at(net, 1, 1);
    double none[1];
    struct values v = { .y = zeros(y), .dx = zeros(x), .dw = none, .db = zeros(y) };
    float *dy = calloc((size_t)ferry_blob_element_count(y) + 1, sizeof *dy);

    CU_ASSERT_PTR_NOT_NULL_FATAL(dy);
    fill(dy, ferry_blob_element_count(y), 3);
    v.dy = dy;
    v.x = ferry_blob_host_data(x);
    v.w = ferry_blob_host_data(w);
    v.bias = ferry_blob_host_data(bias);
    if (w)
        v.dw = zeros(w);
    if (t->kind == IM2COL)
        take_columns(t, &v);
    else
        convolve(t, &v);
    compare(t, "y", ferry_blob_host_data(y), v.y, y);
    if (backward) {
        FX_OK(ferry_net_clear_param_diffs(net));
        memcpy(ferry_blob_overwrite_host_diff(y), dy,
               (size_t)ferry_blob_element_count(y) * sizeof *dy);
        FX_OK(ferry_net_backward(net));
        compare(t, "dx", ferry_blob_host_diff(x), v.dx, x);
        if (w)
            compare(t, "dw", ferry_blob_host_diff(w), v.dw, w);
        if (bias)
            compare(t, "db", ferry_blob_host_diff(bias), v.db, bias);
    }
    if (w)
        free(v.dw);
    free(v.y);
    free(v.dx);
    free(v.db);
    free(dy);
}

static void check(const struct pattern *t, int backward, int fuse)
{
    ferry_net_options o = { .struct_size = sizeof o, .backward = backward, .no_fuse = fuse < 0 };
    ferry_net *net = NULL;
    char text[2048];

    write_text(t, text);
    o.text = text;
    o.text_size = strlen(text);
    if (ferry_net_open(fx_device(), "net.prototxt", &o, &net)) {
        printf("     %s: %s\n", t->name, ferry_last_error());
        CU_FAIL("a net that Caffe opens");
        return;
    }
    for (int k = 0; k < ferry_net_param_count(net, 1); k++)
        fill(ferry_blob_overwrite_host_data(ferry_net_param_at(net, 1, k)),
             ferry_blob_element_count(ferry_net_param_at(net, 1, k)), 7 + (unsigned)k);
    fill(ferry_blob_overwrite_host_data(ferry_net_input_at(net, 0)),
         ferry_blob_element_count(ferry_net_input_at(net, 0)), 5);
    for (int pass = 0; pass < 2; pass++) {
        FX_OK(ferry_net_forward(net, NULL));
        check_top(t, ferry_net_blob_find(net, "y"));
        compute(t, net, backward);
    }
    ferry_net_close(net);
    fx_end();
}

static void nets_with_any_number_of_spatial_axes_match_caffe(void)
{
    for (size_t i = 0; i < FERRY_TEST_COUNT(patterns); i++) {
        check(&patterns[i], 0, 0);
        check(&patterns[i], 0, -1);
        check(&patterns[i], 1, 0);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(nets_with_any_number_of_spatial_axes_match_caffe),
};

int main(int argc, char **argv)
{
    return ferry_test_main_backends(argc, argv, "net axes", cases, FERRY_TEST_COUNT(cases));
}
