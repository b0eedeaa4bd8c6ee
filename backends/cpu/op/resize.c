/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <math.h>

/* RESIZE: row after row of each plane. */

struct resize {
    const struct cpu_window *window;
    const ferry_op_params *params;
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

static struct cpu_sample sample(const struct resize *r, int axis, int64_t i)
{
    return cpu_sample_of(r->params, i, r->window->in[axis], r->window->out[axis]);
}

#define IMPL "resize_impl.h"
#include "reals_impl.h"

static void resize_rows_f32(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct resize *r = arg;

    (void)piece;
    for (int64_t i = first; i < first + count; i++)
        resize_row_f32(r, i / r->window->out[1], i % r->window->out[1]);
}

static void resize_rows_f64(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct resize *r = arg;

    (void)piece;
    for (int64_t i = first; i < first + count; i++)
        resize_row_f64(r, i / r->window->out[1], i % r->window->out[1]);
}

static int resize_plan(struct cpu_op *p)
{
    const ferry_op_window window = { .axes = 2 };

    if (!cpu_op_is_real(p) || p->op.in[0].rank != 4 ||
        p->op.params.resize.method > FERRY_RESIZE_BILINEAR ||
        p->op.params.resize.sampling > FERRY_RESIZE_ASYMMETRIC)
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&window, &p->op.in[0], &p->op.out[0], &p->plan.window);
    return 0;
}

static void resize_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct resize r = { .window = w, .params = &p->op.params, .x = args->in[0], .y = args->out[0] };
    int64_t rows = w->images * w->channels * w->out[1];

    workers_run(d->workers, rows, walk_piece_of(rows, 40 * w->out[2]),
                p->op.out[0].dtype == FERRY_F32 ? resize_rows_f32 : resize_rows_f64, &r);
}

const struct cpu_op_kind cpu_op_resize = {
    .kind = FERRY_OP_RESIZE,
    .plan = resize_plan,
    .run = resize_run,
};
