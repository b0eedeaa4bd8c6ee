/* SPDX-License-Identifier: BSD-2-Clause */
#include "quantize_adapt.h"

#include <ferry/math.h>

#include <stdlib.h>
#include <string.h>

/* The sums of --adaptive-rounding, over positions of a layer's output. */

#define ROWS              1024 /* the samples that are multiplied at once */
#define LEAST_SAMPLES     8192 /* of a layer, if its output has as many positions */
#define SAMPLES_PER_INPUT 4    /* beyond that */

/* ---- layers ---------------------------------------------------------------------------------- */

/* A property of a window for two axes: a list of one or two numbers, or a field for each axis. */
static void read_pair(const ferry_proto *p, const char *list, const char *h, const char *w,
                      int64_t usual, int64_t *out)
{
    int64_t n = ferry_proto_value_count(p, list);

    if (h && (ferry_proto_value_count(p, h) || ferry_proto_value_count(p, w))) {
        out[0] = ferry_proto_integer(p, h, 0);
        out[1] = ferry_proto_integer(p, w, 0);
        return;
    }
    out[0] = n ? ferry_proto_integer(p, list, 0) : usual;
    out[1] = n > 1 ? ferry_proto_integer(p, list, 1) : out[0];
}

static void read_window(struct adapt_layer *a, const ferry_layer *layer, const ferry_blob *w)
{
    const ferry_proto *p = ferry_proto_message(ferry_layer_message(layer), "convolution_param", 0);

    a->kernel[0] = ferry_blob_dim(w, 2);
    a->kernel[1] = ferry_blob_dim(w, 3);
    read_pair(p, "stride", "stride_h", "stride_w", 1, a->stride);
    read_pair(p, "pad", "pad_h", "pad_w", 0, a->pad);
    read_pair(p, "dilation", NULL, NULL, 1, a->dilation);
}

void adapt_describe(struct adapt_layer *a, const struct quantize *q, const ferry_layer *layer)
{
    const ferry_blob *w = ferry_layer_param_at(layer, 0), *x = ferry_layer_bottom_at(layer, 0);
    int64_t outputs, channels;

    *a = (struct adapt_layer){ .groups = 1 };
    a->is_inner = strcmp(ferry_layer_get_type(layer)->name, "InnerProduct") == 0;
    if (!quantize_is_product(layer) || ferry_layer_bottom_count(layer) != 1 ||
        !quantize_owns_param(q, layer, 0) || ferry_blob_dtype(x) != FERRY_F32 ||
        (!a->is_inner && (ferry_blob_rank(w) != 4 || ferry_blob_rank(x) != 4)))
        return;
    outputs = ferry_blob_dim(w, 0);
    a->inputs = outputs > 0 ? ferry_blob_element_count(w) / outputs : 0;
    if (!a->is_inner) {
        channels = ferry_blob_dim(w, 1);
        a->groups = channels > 0 ? ferry_blob_dim(x, 1) / channels : 0;
        read_window(a, layer, w);
    }
    if (a->groups < 1 || a->inputs < 1 || a->inputs > ADAPT_INPUTS || outputs % a->groups)
        return;
    a->outputs = outputs / a->groups;
    a->adapts = true;
}

int adapt_begin(struct adapt_layer *a)
{
    a->sums = calloc((size_t)a->groups, sizeof(*a->sums));
    if (!a->sums)
        return tool_error(TOOL_FAILURE, "out of memory");
    for (int64_t g = 0; g < a->groups; g++) {
        a->sums[g].inputs = a->inputs;
        a->sums[g].xx = calloc((size_t)(a->inputs * a->inputs), sizeof(double));
        if (!a->sums[g].xx)
            return tool_error(TOOL_FAILURE, "out of memory");
    }
    return TOOL_OK;
}

void adapt_end(struct adapt_layer *a)
{
    for (int64_t g = 0; a->sums && g < a->groups; g++)
        free(a->sums[g].xx);
    free(a->sums);
    a->sums = NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A batch, and rows of samples of it. */
struct gatherer {
    struct adapt_layer *a;
    const float *x;
    int64_t items, channels, height, width; /* of the input of a convolution */
    int64_t out_height, out_width;          /* 1 × 1 for an inner product */
    ferry_blob *rows, *product;             /* ROWS × inputs, inputs × inputs */
    int64_t n_rows;
};

/* Copies the values that an output at a position multiplies. Outside of x they are 0. */
static void take_window(const struct gatherer *g, int64_t group, int64_t item, int64_t at,
                        float *to)
{
    const struct adapt_layer *a = g->a;
    int64_t own = g->channels / a->groups;
    int64_t y0 = at / g->out_width * a->stride[0] - a->pad[0];
    int64_t x0 = at % g->out_width * a->stride[1] - a->pad[1];

    for (int64_t c = 0; c < own; c++) {
        const float *plane = g->x + (item * g->channels + group * own + c) * g->height * g->width;

        for (int64_t i = 0; i < a->kernel[0]; i++)
            for (int64_t k = 0; k < a->kernel[1]; k++) {
                int64_t y = y0 + i * a->dilation[0], x = x0 + k * a->dilation[1];
                bool inside = y >= 0 && y < g->height && x >= 0 && x < g->width;

                *to++ = inside ? plane[y * g->width + x] : 0;
            }
    }
}

static bool are_finite(const float *values, int64_t n)
{
    float sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += values[i] * 0;
    return sum == 0;
}

/* Adds a row for one position, unless values are not finite. */
static void take_row(struct gatherer *g, int64_t group, int64_t item, int64_t at, float *rows)
{
    const struct adapt_layer *a = g->a;
    float *to = rows + g->n_rows * a->inputs;

    if (a->is_inner)
        memcpy(to, g->x + item * a->inputs, (size_t)a->inputs * sizeof(*to));
    else
        take_window(g, group, item, at, to);
    g->n_rows += are_finite(to, a->inputs);
}

/* Adds the products of the rows to the sums. */
static int multiply(struct gatherer *g, struct adapt_sums *s)
{
    ferry_queue *queue = ferry_device_queue(ferry_blob_home(g->rows));
    int64_t n = s->inputs;
    const float *values;

    if (!g->n_rows)
        return TOOL_OK;
    if (ferry_math_gemm(queue, FERRY_F32, FERRY_TRANS, FERRY_NO_TRANS, n, n, g->n_rows, 1,
                        ferry_blob_device_data(g->rows), n, ferry_blob_device_data(g->rows), n, 0,
                        ferry_blob_overwrite_device_data(g->product), n))
        return tool_ferry_error();
    values = ferry_blob_host_data(g->product);
    if (!values)
        return tool_ferry_error();
    for (int64_t i = 0; i < n * n; i++)
        s->xx[i] += (double)values[i];
    s->count += g->n_rows;
    g->n_rows = 0;
    return TOOL_OK;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The distance of samples: it has no divisor in common with a line, so that all columns count. */
static int64_t distance(const struct gatherer *g, const struct quantize *q)
{
    int64_t wanted = SAMPLES_PER_INPUT * g->a->inputs;
    int64_t all = q->feed.items * g->out_height * g->out_width, step;

    wanted = wanted > LEAST_SAMPLES ? wanted : LEAST_SAMPLES;
    step = all > wanted ? all / wanted : 1;
    while (common_divisor(g->out_width, step) > 1)
        step++;
    return step;
}

static int add_group(struct gatherer *g, const struct quantize *q, int64_t group)
{
    int64_t size = g->out_height * g->out_width, step = distance(g, q), at = 0;
    int status = TOOL_OK;

    while (status == TOOL_OK && at < g->items * size) {
        float *rows = ferry_blob_overwrite_host_data(g->rows);

        if (!rows)
            return tool_ferry_error();
        for (; g->n_rows < ROWS && at < g->items * size; at += step)
            take_row(g, group, at / size, at % size, rows);
        status = multiply(g, &g->a->sums[group]);
    }
    return status;
}

int adapt_add(struct adapt_layer *a, const struct quantize *q, const ferry_layer *layer)
{
    const ferry_blob *x = ferry_layer_bottom_at(layer, 0), *y = ferry_layer_top_at(layer, 0);
    const int64_t shapes[2][2] = { { ROWS, a->inputs }, { a->inputs, a->inputs } };
    struct gatherer g = { .a = a, .x = ferry_blob_host_data(x), .out_height = 1, .out_width = 1 };
    int status = TOOL_OK;

    if (!ferry_blob_element_count(y))
        return TOOL_OK;
    g.items = ferry_blob_dim(y, 0);
    if (!a->is_inner) {
        g.channels = ferry_blob_dim(x, 1);
        g.height = ferry_blob_dim(x, 2);
        g.width = ferry_blob_dim(x, 3);
        g.out_height = ferry_blob_dim(y, 2);
        g.out_width = ferry_blob_dim(y, 3);
    }
    if (!g.x || ferry_blob_create(ferry_blob_home(x), FERRY_F32, shapes[0], 2, &g.rows) ||
        ferry_blob_create(ferry_blob_home(x), FERRY_F32, shapes[1], 2, &g.product))
        status = tool_ferry_error();
    for (int64_t group = 0; status == TOOL_OK && group < a->groups; group++)
        status = add_group(&g, q, group);
    ferry_blob_destroy(g.rows);
    ferry_blob_destroy(g.product);
    return status;
}
