/* SPDX-License-Identifier: BSD-2-Clause */
#include "grouped.h"

/*
 * The number of floats of copied lines up to which they, the weights and a tile of y stay in a
 * first-level cache of 48 KiB.
 */
#define GROUPED_NEAR (8 * 1024)

/* ---- planning ------------------------------------------------------------------------------- */

/* The maximum number of lines of y whose copied lines fit into `floats` floats; 0: none. */
static int64_t lines_within(const struct cpu_window *w, int64_t floats)
{
    int64_t lines = 0;

    while (lines < w->out[1] && cpu_grouped_channel(w, lines + 1) * GROUPED_CHANNELS <= floats)
        lines++;
    return lines;
}

bool cpu_grouped_can(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group, width = w->channels / group;
    bool is_image = w->kernel[0] == 1 && w->in[0] == 1 && w->out[0] == 1;

    if (p->own_in > 2 && p->op.in[2].stride[0] != 1) /* the bias is one of cpu_gemm_make_store */
        return false;
    return p->loops->grouped && !p->is_empty && is_image && w->x[1] == 1 && w->y[1] == 1 &&
           group > 1 && w->channels == w->outputs && (width == 4 || width == 8) &&
           !p->plan.convolution.is_transposed && w->taps > 3 && w->taps <= GROUPED_TAPS &&
           w->channels >= GROUPED_CHANNELS && w->stride[1] == 1 && w->stride[2] == 1 &&
           cpu_depthwise_columns(w) <= 2 * w->out[2] && lines_within(w, GROUPED_MOST) > 0 &&
           cpu_epilogue_functions(p) == p->op.n_epilogue;
}

void cpu_grouped_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t width = w->channels / p->op.params.window.group;

    p->answer.epilogue = cpu_epilogue_functions(p);
    cpu_op_pack_or_not(p, 1, (uint64_t)(w->channels * width * w->taps) * sizeof(float), 0);
}

void cpu_grouped_pack(struct cpu_device *d, const struct cpu_op *p, const float *w, float *packed)
{
    const struct cpu_window *v = &p->plan.convolution.window;
    const int64_t *wide = p->plan.convolution.w;
    int64_t group = p->op.params.window.group, width = v->channels / group;

    (void)d;
    for (int64_t g = 0; g < group; g++)
        for (int64_t tap = 0; tap < v->taps; tap++) {
            const float *from = cpu_convolution_tap(p, w, tap) + g * p->plan.convolution.w_group;

            for (int64_t c = 0; c < width; c++)
                for (int64_t o = 0; o < width; o++)
                    *packed++ = from[c * wide[1] + o * wide[0]];
        }
}

/* ---- running -------------------------------------------------------------------------------- */

/* The division of the work: a piece is a band of lines of an image, for a block of channels. */
struct bands {
    const struct cpu_op *op;
    struct cpu_grouped grouped;
    struct cpu_gemm_run steps; /* used only for its steps and its store */
    int64_t band, bands, blocks;
};

static void do_bands(void *arg, int64_t begin, int64_t count, int64_t piece)
{
    const struct bands *b = arg;
    const struct cpu_window *w = b->grouped.window;

    (void)piece;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t first = i / b->blocks % b->bands * b->band, image = i / b->blocks / b->bands;
        int64_t channel = i % b->blocks * GROUPED_CHANNELS, left = w->channels - channel;
        int64_t channels = left < GROUPED_CHANNELS ? left : GROUPED_CHANNELS;
        int64_t lines = w->out[1] - first < b->band ? w->out[1] - first : b->band;
        float *y = b->grouped.y + image * w->y[0] + channel;

        b->op->loops->grouped(&b->grouped, b->grouped.x + image * w->x[0] + channel, y, first,
                              lines, channel, channels);
        for (int64_t k = first; k < first + lines; k++)
            cpu_epilogue_line(&b->steps, w, channels, y + k * w->y[3]);
    }
}

/* Divides the lines into bands of equal size whose copied lines stay in the first-level cache. */
static void run_bands(struct cpu_device *d, struct bands *b)
{
    const struct cpu_window *w = b->grouped.window;
    int64_t products = w->images * w->out[1] * w->out[2] * w->channels * b->grouped.width * w->taps;
    int64_t pieces;

    b->band = lines_within(w, GROUPED_NEAR);
    b->band = b->band > 0 ? b->band : lines_within(w, GROUPED_MOST);
    b->bands = (w->out[1] + b->band - 1) / b->band;
    b->band = (w->out[1] + b->bands - 1) / b->bands;
    b->bands = (w->out[1] + b->band - 1) / b->band;
    b->blocks = (w->channels + GROUPED_CHANNELS - 1) / GROUPED_CHANNELS;
    pieces = w->images * b->bands * b->blocks;
    workers_run(d->workers, pieces, products <= WORKERS_FEW_PRODUCTS ? pieces : 1, do_bands, b);
}

void cpu_grouped_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct bands b = {
        .op = p,
        .grouped = { .window = w,
                     .width = w->channels / p->op.params.window.group,
                     .x = args->in[0],
                     .y = args->out[0],
                     .w = args->packed },
        .steps = { .loops = p->loops },
    };

    if (!b.grouped.w) {
        cpu_grouped_pack(d, p, args->in[1], args->workspace);
        b.grouped.w = args->workspace;
    }
    if (p->own_in > 2)
        b.steps.step[b.steps.steps++] =
            (struct cpu_step){ .step = FERRY_STEP_SHIFT, .operand = args->in[2], .stride = 1 };
    cpu_epilogue_steps(p, args, &b.steps);
    cpu_gemm_make_store(&b.steps);
    b.grouped.store = b.steps.store;
    run_bands(d, &b);
}
