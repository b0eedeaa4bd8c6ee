/* SPDX-License-Identifier: BSD-2-Clause */
#include "depthwise.h"

#include "op.h"

#include <string.h>

/* CONVOLUTION where each channel is a group and has one output. */

bool cpu_depthwise_can(const struct cpu_op *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const struct cpu_window *w = &p->plan.convolution.window;

    return window->group > 1 && window->group == w->channels && w->outputs == w->channels &&
           !p->plan.convolution.is_transposed;
}

/* Steps after a bias that the store does not do are taken by ferry. */
static uint32_t steps_taken(const struct cpu_op *p)
{
    uint32_t function = p->op.epilogue[0].function;

    return p->op.n_epilogue > 0 && p->op.epilogue[0].step == FERRY_STEP_UNARY &&
           (function == FERRY_UNARY_RELU || function == FERRY_UNARY_CLIP);
}

void cpu_depthwise_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    uint64_t channels = (uint64_t)w->channels, taps = (uint64_t)w->taps;

    p->answer.epilogue = steps_taken(p);
    cpu_op_pack_or_not(p, 1, channels * taps * sizeof(float), 0);
}

void cpu_depthwise_pack(const struct cpu_op *p, const float *w, float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    const int64_t *wide = p->plan.convolution.w;

    for (int64_t tap = 0; tap < v->taps; tap++) {
        int64_t i = tap / v->kernel[2] / v->kernel[1], j = tap / v->kernel[2] % v->kernel[1];
        const float *from = w + p->plan.convolution.w_first + i * wide[2] + j * wide[3] +
                            tap % v->kernel[2] * wide[4];

        for (int64_t c = 0; c < v->channels; c++)
            *packed++ = from[c * p->plan.convolution.w_group];
    }
}

/* ---- running -------------------------------------------------------------------------------- */

struct lines {
    const struct cpu_op *op;
    struct cpu_depthwise depthwise;
    bool is_last; /* channels side by side in x and y */
};

static int64_t up(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a + b - 1) / b;
}

/* Taps of an axis that position `at` sees. */
static void see(const struct cpu_window *w, int axis, int64_t at, int64_t *first, int64_t *end)
{
    int64_t begin = at * w->stride[axis] - w->pad[axis], step = w->dilation[axis];

    *first = up(-begin, step);
    *end = up(w->in[axis] - begin, step);
    if (*end > w->kernel[axis])
        *end = w->kernel[axis];
}

/* Whether line `at` and the one below it see all taps, of three that are as far apart as they are. */
static bool is_pair(const struct cpu_window *w, int64_t at)
{
    struct cpu_span whole = cpu_window_whole(w, 1);

    return w->kernel[1] == 3 && w->stride[1] == 1 && w->dilation[1] == 1 && at >= whole.first &&
           at + 1 < whole.end;
}

/* Lines, or lines of each plane where channels are not side by side. */
static void do_lines(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct lines *s = arg;
    const struct cpu_window *w = s->depthwise.window;
    int64_t planes = s->is_last ? 1 : w->channels;

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        int64_t at[2] = { i / w->out[1] % w->out[0], i % w->out[1] };
        int64_t plane = i / w->out[1] / w->out[0], image = plane / planes;
        struct cpu_line l = { .lines = 1 };

        l.x = s->depthwise.x + image * w->x[0] + (at[0] * w->stride[0] - w->pad[0]) * w->x[2] +
              (at[1] * w->stride[1] - w->pad[1]) * w->x[3] - w->pad[2] * w->x[4];
        l.y = image * w->y[0] + at[0] * w->y[2] + at[1] * w->y[3];
        for (int axis = 0; axis < 2; axis++)
            see(w, axis, at[axis], &l.first[axis], &l.end[axis]);
        if (s->is_last && i + 1 < first + count && is_pair(w, at[1]))
            l.lines = 2;
        i += l.lines - 1;
        if (s->is_last)
            s->op->loops->depthwise_last(&s->depthwise, &l);
        else
            s->op->loops->depthwise_plane(&s->depthwise, &l, plane % planes);
    }
}

static void fill_store(const struct cpu_op *p, const struct cpu_op_args *args,
                       struct cpu_store *store)
{
    const ferry_op_step *step = &p->op.epilogue[0];

    memset(store, 0, sizeof(*store));
    if (p->own_in > 2)
        store->bias = args->in[2];
    if (p->answer.epilogue == 0)
        return;
    store->slope = store->least = (float)step->a;
    store->clamp = step->function == FERRY_UNARY_CLIP ? CPU_CLAMP_CLIP
                   : store->slope == 0                ? CPU_CLAMP_POSITIVE
                                                      : CPU_CLAMP_RELU;
    store->most = (float)step->b;
}

void cpu_depthwise_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct lines s = { .op = p, .is_last = w->x[1] == 1 && w->y[1] == 1 };
    struct cpu_depthwise *depthwise = &s.depthwise;
    int64_t reach = (w->kernel[2] - 1) * w->dilation[2];
    int64_t lines = w->images * w->out[0] * w->out[1] * (s.is_last ? 1 : w->channels);
    int64_t cost = w->out[2] * (s.is_last ? w->channels : 1) * w->taps;

    depthwise->window = w;
    depthwise->x = args->in[0];
    depthwise->y = args->out[0];
    depthwise->w = args->packed;
    depthwise->w_tap = w->channels;
    depthwise->w_channel = 1;
    depthwise->inner[0] = up(w->pad[2], w->stride[2]);
    depthwise->inner[1] = up(w->in[2] + w->pad[2] - reach, w->stride[2]);
    if (depthwise->inner[1] > w->out[2])
        depthwise->inner[1] = w->out[2];
    fill_store(p, args, &depthwise->store);
    if (!depthwise->w) {
        cpu_depthwise_pack(p, args->in[1], args->workspace);
        depthwise->w = args->workspace;
    }
    workers_run(d->workers, lines, walk_piece_of(lines, cost + 1), do_lines, &s);
}
