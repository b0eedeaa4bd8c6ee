/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"

#include <ferry/op_types.h>
#include <math.h>
#include <string.h>

/*
 * RESIZE computes bands of rows of a plane, or of all channels if they are contiguous in y. A row
 * of x that is resized along its axis is kept for the rows of y between it and the next one.
 */

/* The maximum number of rows of a band. */
#define BAND 16
/* The number of elements below which a second thread costs more than it helps. */
#define SMALL (16 * 1024)

struct resize {
    const struct cpu_op *op;
    const struct cpu_window *window;
    const struct cpu_sample *along; /* one entry for each pixel of a row */
    int64_t channels, length;       /* the channels of a row, 1 or all, and the row's elements */
    int64_t band, bands;            /* the rows of a band, and the bands of a plane or an image */
    void *rows;                     /* two rows for each thread */
    const void *x;
    void *y;
};

static int64_t inside(double at, int64_t in)
{
    return at < 0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

struct cpu_sample cpu_sample_of(const ferry_op_params *params, int64_t i, int64_t in, int64_t out)
{
    uint32_t sampling = params->resize.sampling;
    struct cpu_sample s = { { 0, 0 }, 0 };
    double at;

    if (sampling == FERRY_RESIZE_HALF_PIXEL)
        at = ((double)i + 0.5) * (double)in / (double)out - 0.5;
    else if (sampling == FERRY_RESIZE_ASYMMETRIC)
        at = (double)i * (double)in / (double)out;
    else
        at = out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0;
    if (params->resize.method == FERRY_RESIZE_NEAREST) {
        s.at[0] = inside(floor(sampling == FERRY_RESIZE_ASYMMETRIC ? at : at + 0.5), in);
        s.at[1] = s.at[0];
        return s;
    }
    at = at < 0 ? 0 : at > (double)(in - 1) ? (double)(in - 1) : at;
    s.at[0] = inside(floor(at), in);
    s.at[1] = inside(floor(at) + 1, in);
    s.weight = at - floor(at);
    return s;
}

/* Computes y = top · (1 − down) + bottom · down for a row. */
static void blend_f32(const struct resize *r, const float *top, const float *bottom, double down,
                      float *y)
{
    const struct cpu_window *w = r->window;
    float b = (float)down, a = 1 - b;
    const struct cpu_binary_row row = { .function = FERRY_BINARY_SUM,
                                        .a = a,
                                        .b = b,
                                        .x = top,
                                        .u = bottom,
                                        .x_step = 1,
                                        .u_step = 1,
                                        .y = y };

    if (w->y[4] == r->channels) {
        r->op->loops->binary(&row, r->length);
        return;
    }
    for (int64_t i = 0; i < r->length; i++)
        y[i / r->channels * w->y[4] + i % r->channels] = top[i] * a + bottom[i] * b;
}

static void blend_f64(const struct resize *r, const double *top, const double *bottom, double down,
                      double *y)
{
    for (int64_t i = 0; i < r->length; i++)
        y[i / r->channels * r->window->y[4] + i % r->channels] =
            top[i] * (1 - down) + bottom[i] * down;
}

#define IMPL "resize_impl.h"
#include "reals_impl.h"

/* The number of channels in a row of y: all if they are contiguous, otherwise 1. */
static int64_t channels_of(const struct cpu_window *w)
{
    return w->y[1] == 1 ? w->channels : 1;
}

static uint64_t samples_bytes(const struct cpu_op *p)
{
    return (uint64_t)p->plan.window.out[2] * sizeof(struct cpu_sample);
}

static uint64_t row_bytes(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.window;

    return (uint64_t)(w->out[2] * channels_of(w)) * sizeof(double);
}

static int resize_plan(struct cpu_op *p)
{
    const ferry_op_window window = { .axes = 2 };

    if (!cpu_op_is_real(p) || p->op.in[0].rank != 4 ||
        p->op.params.resize.method > FERRY_RESIZE_BILINEAR ||
        p->op.params.resize.sampling > FERRY_RESIZE_ASYMMETRIC)
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&window, &p->op.in[0], &p->op.out[0], &p->plan.window);
    p->answer.workspace_bytes = samples_bytes(p) + 2 * p->threads * row_bytes(p);
    return 0;
}

/* Cuts planes into bands, as many as divide evenly among the threads; returns their number. */
static int64_t cut_bands(struct resize *r, int64_t planes, int64_t threads)
{
    int64_t rows = r->window->out[1], bands = (rows + BAND - 1) / BAND;

    while (planes * bands % threads && bands < rows)
        bands++;
    r->band = bands ? (rows + bands - 1) / bands : 1;
    r->bands = (rows + r->band - 1) / r->band;
    return planes * r->bands;
}

static void resize_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    int64_t channels = channels_of(w), planes = w->images * (w->channels / channels);
    struct cpu_sample *along = args->workspace;
    struct resize r = { .op = p,
                        .window = w,
                        .along = along,
                        .channels = channels,
                        .length = w->out[2] * channels,
                        .rows = along + w->out[2],
                        .x = args->in[0],
                        .y = args->out[0] };
    int64_t tasks = cut_bands(&r, planes, p->threads);
    workers_task task = p->op.out[0].dtype == FERRY_F32 ? resize_band_f32 : resize_band_f64;

    for (int64_t i = 0; i < w->out[2]; i++)
        along[i] = cpu_sample_of(&p->op.params, i, w->in[2], w->out[2]);
    if (tasks * r.band * r.length >= SMALL)
        workers_tasks(d->workers, tasks, task, &r);
    else
        for (int64_t i = 0; i < tasks; i++)
            task(&r, i, 0);
}

const struct cpu_op_kind cpu_op_resize = {
    .kind = FERRY_OP_RESIZE,
    .plan = resize_plan,
    .run = resize_run,
};
