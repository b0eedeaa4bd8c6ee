/* SPDX-License-Identifier: BSD-2-Clause */
#include "depthwise.h"

#include "op.h"
#include "values.h"

#include <string.h>

/* The size of a group of channels: lines are computed for one group, then for the next one. */
#define SLIDE_BYTES (64 * 1024)

/* Depthwise CONVOLUTION: each channel is a group with one output. */

bool cpu_depthwise_can(const struct cpu_op *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const struct cpu_window *w = &p->plan.convolution.window;

    if (p->own_in > 2 && p->op.in[2].stride[0] != 1) /* the bias is read as vectors */
        return false;
    return window->group > 1 && window->group == w->channels && w->outputs == w->channels &&
           !p->plan.convolution.is_transposed;
}

/* Whether the channels of a pixel are contiguous in x and y. */
static bool is_last(const struct cpu_window *w)
{
    return w->x[1] == 1 && w->y[1] == 1;
}

/* The number of channels that slide_impl.h processes at a time. */
static int64_t slide_width(const struct cpu_loops *loops)
{
    return loops->lanes == 16 ? 16 : 2 * loops->lanes;
}

/* Whether slide_impl.h computes it: a kernel of 3 × 3, channels last, stride 1 or 2. */
static bool can_slide(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    bool is_image = w->kernel[0] == 1 && w->in[0] == 1 && w->out[0] == 1;

    return is_image && w->kernel[1] == 3 && w->kernel[2] == 3 && w->dilation[1] == 1 &&
           w->dilation[2] == 1 && w->stride[2] <= 2 && w->pad[2] <= 1 && is_last(w) &&
           w->channels >= slide_width(p->loops);
}

/*
 * The size of copied lines, in floats, that leaves room for the weights in the first-level cache.
 */
#define COPIED_NEAR (5 * 1024)
/* The number of pixels from which on most pixels of a line are not beside the padding. */
#define LONG_LINE 14

/* The number of lines of y whose input lines fit into `floats` floats. */
static int64_t lines_within(const struct cpu_window *w, int64_t floats)
{
    int64_t lines = floats / (cpu_depthwise_columns(w) * COPIED_CHANNELS);
    int64_t seen = (w->kernel[1] - 1) * w->dilation[1] + 1;

    return lines < seen ? 0 : (lines - seen) / w->stride[1] + 1;
}

/*
 * Whether copied_impl.h computes it: any other kernel, channels last. Lines of x are copied. With a
 * stride, a copy reads more than it saves, unless lines are short.
 */
static bool can_copy(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    bool is_image = w->kernel[0] == 1 && w->in[0] == 1 && w->out[0] == 1;

    return is_image && !p->is_empty && is_last(w) && w->channels >= COPIED_CHANNELS &&
           (w->stride[2] == 1 || w->out[2] < LONG_LINE) && lines_within(w, COPIED_MOST) > 0;
}

void cpu_depthwise_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t width = slide_width(p->loops), channels = w->channels;

    p->answer.epilogue = cpu_epilogue_functions(p);
    p->plan.convolution.is_slide = can_slide(p);
    p->plan.convolution.is_copied = !p->plan.convolution.is_slide && can_copy(p);
    if (p->plan.convolution.is_copied)
        width = COPIED_CHANNELS;
    if (p->plan.convolution.is_slide || p->plan.convolution.is_copied)
        channels = (channels + width - 1) / width * width;
    cpu_op_pack_or_not(p, 1, (uint64_t)(channels * w->taps) * sizeof(float), 0);
}

/*
 * Packs the weights tap by tap, with all channels of each; or, for slide_impl.h and copied_impl.h,
 * in groups of their width, of which the last overlaps the previous one.
 */
void cpu_depthwise_pack(struct cpu_device *d, const struct cpu_op *p, const float *w,
                        float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    int64_t width = p->plan.convolution.is_slide    ? slide_width(p->loops)
                    : p->plan.convolution.is_copied ? COPIED_CHANNELS
                                                    : v->channels;

    (void)d;
    for (int64_t first = 0; first < v->channels; first += width) {
        if (first + width > v->channels)
            first = v->channels - width;
        for (int64_t tap = 0; tap < v->taps; tap++) {
            const float *from = cpu_convolution_tap(p, w, tap);

            for (int64_t c = first; c < first + width; c++)
                *packed++ = from[c * p->plan.convolution.w_group];
        }
    }
}

bool cpu_depthwise_takes_values(const struct cpu_op *p)
{
    const ferry_op_step *s = &p->op.epilogue[0];

    return p->pairs && cpu_values_bf16 && p->plan.convolution.is_slide &&
           p->op.in[0].dtype == FERRY_BF16 && p->op.out[0].dtype == FERRY_BF16 &&
           (p->op.n_epilogue == 0 ||
            (p->op.n_epilogue == 1 && s->step == FERRY_STEP_UNARY &&
             (s->function == FERRY_UNARY_RELU || s->function == FERRY_UNARY_CLIP)));
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct lines {
    const struct cpu_op *op;
    struct cpu_depthwise depthwise;
    struct cpu_gemm_run steps; /* used only for its steps and its store */
    bool is_last;
};

static int64_t up(int64_t a, int64_t b)
{
    return a <= 0 ? 0 : (a + b - 1) / b;
}

/* Computes lines, or lines of each plane if channels are not contiguous. */
static void do_lines(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct lines *s = arg;
    const struct cpu_window *w = s->depthwise.window;
    int64_t planes = s->is_last ? 1 : w->channels;

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        int64_t at[2] = { i / w->out[1] % w->out[0], i % w->out[1] };
        int64_t plane = i / w->out[1] / w->out[0], image = plane / planes;
        struct cpu_line l;

        l.x = s->depthwise.x + image * w->x[0] + (at[0] * w->stride[0] - w->pad[0]) * w->x[2] +
              (at[1] * w->stride[1] - w->pad[1]) * w->x[3] - w->pad[2] * w->x[4];
        l.y = image * w->y[0] + at[0] * w->y[2] + at[1] * w->y[3];
        for (int axis = 0; axis < 2; axis++)
            cpu_depthwise_see(w, axis, at[axis], &l.first[axis], &l.end[axis]);
        if (s->is_last)
            s->op->loops->depthwise_last(&s->depthwise, &l);
        else
            s->op->loops->depthwise_plane(&s->depthwise, &l, plane % planes);
        cpu_epilogue_line(&s->steps, w, s->is_last ? w->channels : 1,
                          s->depthwise.y + l.y + plane % planes * w->y[1]);
    }
}

/* Computes few lines at a time, so that their common inputs and pages stay in the caches. */
static void slide_lines(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct lines *s = arg;
    const struct cpu_window *w = s->depthwise.window;
    int64_t line = (w->stride[1] * w->in[2] + w->out[2]) * w->channels * (int64_t)sizeof(float);
    int64_t some = SLIDE_BYTES / line / 2 * 2;
    const bool is_bf16 = s->op->op.in[0].dtype == FERRY_BF16;
    const void *x = s->depthwise.x;

    (void)piece;
    some = some < 2 ? 2 : some;
    for (int64_t end = first + count, n; first < end; first += n) {
        int64_t image = first / w->out[1], at = first % w->out[1];

        n = w->out[1] - at < end - first ? w->out[1] - at : end - first;
        n = n < some ? n : some;
        if (is_bf16) {
            cpu_values_bf16->depthwise_slide(&s->depthwise, (const char *)x + 2 * image * w->x[0],
                                             image * w->y[0], at, n);
            continue;
        }
        s->op->loops->depthwise_slide(&s->depthwise, s->depthwise.x + image * w->x[0],
                                      image * w->y[0], at, n);
        for (int64_t i = at; i < at + n; i++)
            cpu_epilogue_line(&s->steps, w, w->channels,
                              s->depthwise.y + image * w->y[0] + i * w->y[3]);
    }
}

/* ---- copied lines --------------------------------------------------------------------------- */

/* The division of the work: a piece is a band of lines of an image, for a part of the channels. */
struct bands {
    struct lines lines;
    int64_t band, bands; /* the lines of a band, and the number of bands */
    int64_t part, parts; /* the channels of a part, and the number of parts; the last part is larger
                          * if the channels do not divide evenly */
};

static void do_bands(void *arg, int64_t begin, int64_t count, int64_t piece)
{
    const struct bands *b = arg;
    const struct cpu_depthwise *d = &b->lines.depthwise;
    const struct cpu_window *w = d->window;

    (void)piece;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t at = i / b->parts % b->bands * b->band, image = i / b->parts / b->bands;
        int64_t from = i % b->parts * b->part;
        int64_t end = i % b->parts + 1 < b->parts ? from + b->part : w->channels;
        int64_t lines = w->out[1] - at < b->band ? w->out[1] - at : b->band;

        for (int64_t c = from; c < end; c += COPIED_CHANNELS)
            b->lines.op->loops->depthwise_copied(
                d, d->x + image * w->x[0], image * w->y[0], at, lines,
                c + COPIED_CHANNELS > end ? end - COPIED_CHANNELS : c);
        for (int64_t k = at; k < at + lines; k++)
            cpu_epilogue_line(&b->lines.steps, w, end - from,
                              d->y + image * w->y[0] + k * w->y[3] + from);
    }
}

/*
 * Divides the work into bands, and into parts of the channels if there are too few bands: as many
 * pieces as divide evenly among the threads, of whole groups of channels.
 */
static void run_bands(struct cpu_device *d, struct bands *b)
{
    const struct cpu_window *w = b->lines.depthwise.window;
    int64_t groups = w->channels / COPIED_CHANNELS, threads = b->lines.op->threads, pieces;
    bool is_small =
        w->images * w->out[1] * w->out[2] * w->channels * w->taps <= WORKERS_FEW_PRODUCTS;

    b->band = lines_within(w, COPIED_NEAR);
    b->band = b->band > 0 ? b->band : lines_within(w, COPIED_MOST);
    b->bands = (w->out[1] + b->band - 1) / b->band;
    b->band = (w->out[1] + b->bands - 1) / b->bands;
    b->bands = (w->out[1] + b->band - 1) / b->band;
    b->parts = 1;
    while (!is_small && w->images * b->bands * b->parts < 4 * threads && 2 * b->parts <= groups)
        b->parts *= 2;
    b->part = (groups + b->parts - 1) / b->parts * COPIED_CHANNELS;
    b->parts = (groups * COPIED_CHANNELS + b->part - 1) / b->part;
    pieces = w->images * b->bands * b->parts;
    workers_run(d->workers, pieces, is_small ? pieces : 1, do_bands, b);
}

/* ---- running -------------------------------------------------------------------------------- */

/*
 * The number of lines per piece: an equal number for each thread, or several pieces each if they
 * divide evenly.
 */
static int64_t even_piece(int64_t lines, int64_t cost, int64_t threads)
{
    if (threads < 2 || lines * cost <= WORKERS_FEW_PRODUCTS)
        return lines;
    for (int64_t times = 4; times > 1; times--) {
        int64_t piece = (lines + times * threads - 1) / (times * threads);

        if (16 * (piece * times * threads - lines) <= lines)
            return piece;
    }
    return (lines + threads - 1) / threads;
}

static void make_store(const struct cpu_op *p, const struct cpu_op_args *args, struct lines *s)
{
    struct cpu_gemm_run *steps = &s->steps;

    if (p->own_in > 2)
        steps->step[steps->steps++] =
            (struct cpu_step){ .step = FERRY_STEP_SHIFT, .operand = args->in[2], .stride = 1 };
    cpu_epilogue_steps(p, args, steps);
    cpu_gemm_make_store(steps);
    s->depthwise.store = steps->store;
}

void cpu_depthwise_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct lines s = { .op = p, .is_last = is_last(w), .steps = { .loops = p->loops } };
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
    make_store(p, args, &s);
    if (!depthwise->w) {
        cpu_depthwise_pack(d, p, args->in[1], args->workspace);
        depthwise->w = args->workspace;
    }
    if (p->plan.convolution.is_copied)
        run_bands(d, &(struct bands){ .lines = s });
    else if (p->plan.convolution.is_slide)
        workers_run(d->workers, lines, even_piece(lines, cost, p->threads), slide_lines, &s);
    else
        workers_run(d->workers, lines, walk_piece_of(lines, cost + 1), do_lines, &s);
}
