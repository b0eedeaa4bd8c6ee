/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"

#include <ferry/op_types.h>
#include <math.h>

/* LRN processes one pixel after another, or blocks of contiguous pixels. */

struct lrn {
    const struct cpu_loops *loops;
    const struct cpu_window *window;
    bool is_across;
    int64_t size;
    double alpha, beta, k;
    const void *x;
    void *y, *scale;
    int64_t scale_stride[5];
    struct cpu_pixels pixels;
};

/* The part of the image around a pixel, and the number of elements that it counts as. */
struct around {
    int64_t first[3], end[3], elements;
};

static struct around around(const struct lrn *l, const int64_t *at)
{
    const struct cpu_window *w = l->window;
    int64_t half = (l->size - 1) / 2;
    struct around a = { .elements = l->is_across ? l->size : 1 };

    for (int i = 0; i < 3 && !l->is_across; i++) {
        int64_t reach = i > 0 ? half : 0; /* the window extends along the last two axes */
        int64_t end = at[i] + reach + 1;

        a.first[i] = at[i] > reach ? at[i] - reach : 0;
        a.end[i] = end < w->in[i] ? end : w->in[i];
        /* padding of up to `half` after the image counts, as in average pooling */
        a.elements *= (end < w->in[i] + reach ? end : w->in[i] + reach) - (at[i] - reach);
    }
    return a;
}

static int64_t scale_at(const struct lrn *l, int64_t image, int64_t channel, const int64_t *at)
{
    return image * l->scale_stride[0] + channel * l->scale_stride[1] + at[0] * l->scale_stride[2] +
           at[1] * l->scale_stride[3] + at[2] * l->scale_stride[4];
}

#define IMPL "lrn_impl.h"
#include "reals_impl.h"

/* Whether the instruction set's loops support this LRN, as they do for the usual parameters. */
static bool is_usual(const struct lrn *l)
{
    return l->is_across && l->beta == 0.75 && l->k > 0 && l->alpha >= 0;
}

/* Whether they also support a block, with contiguous channels of a pixel. */
static bool is_channels_last(const struct lrn *l)
{
    return is_usual(l) && !l->scale && l->window->x[1] == 1 && l->window->y[1] == 1;
}

static void lrn_usual(const struct lrn *l, int64_t image, const int64_t *at)
{
    const struct cpu_window *w = l->window;
    struct cpu_lrn_pixel p = { .channels = w->channels,
                               .half = (l->size - 1) / 2,
                               .k = (float)l->k,
                               .alpha = (float)(l->alpha / (double)l->size) };

    p.x =
        (const float *)l->x + image * w->x[0] + at[0] * w->x[2] + at[1] * w->x[3] + at[2] * w->x[4];
    p.y = (float *)l->y + image * w->y[0] + at[0] * w->y[2] + at[1] * w->y[3] + at[2] * w->y[4];
    l->loops->lrn(&p);
}

static void lrn_rows(void *arg, int64_t first, int64_t count, bool is_f32)
{
    const struct lrn *l = arg;
    const struct cpu_window *w = l->window;

    for (int64_t row = first; row < first + count; row++) {
        int64_t at[3] = { row / w->in[1] % w->in[0], row % w->in[1], 0 };
        int64_t image = row / w->in[1] / w->in[0];

        for (; at[2] < w->in[2]; at[2]++) {
            if (is_f32 && is_channels_last(l))
                lrn_usual(l, image, at);
            else if (is_f32)
                lrn_pixel_f32(l, image, at);
            else
                lrn_pixel_f64(l, image, at);
        }
    }
}

static void lrn_rows_f32(void *arg, int64_t first, int64_t count, int64_t piece)
{
    (void)piece;
    lrn_rows(arg, first, count, true);
}

static void lrn_rows_f64(void *arg, int64_t first, int64_t count, int64_t piece)
{
    (void)piece;
    lrn_rows(arg, first, count, false);
}

static void lrn_blocks(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct lrn *l = arg;
    const struct cpu_window *w = l->window;
    struct cpu_lrn_block b = { .x_channel = w->x[1],
                               .y_channel = w->y[1],
                               .scale_channel = l->scale_stride[1],
                               .channels = w->channels,
                               .half = (l->size - 1) / 2,
                               .k = (float)l->k,
                               .alpha = (float)(l->alpha / (double)l->size) };

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        struct cpu_pixel_block p = cpu_pixels_block(&l->pixels, i);

        b.x = (const float *)l->x + cpu_pixels_at(&p, w->x);
        b.y = (float *)l->y + cpu_pixels_at(&p, w->y);
        b.scale = l->scale ? (float *)l->scale + cpu_pixels_at(&p, l->scale_stride) : NULL;
        b.pixels = p.pixels;
        l->loops->lrn_block(&b);
    }
}

static void window_of(const ferry_operand *x, const ferry_operand *y, struct cpu_window *out)
{
    const ferry_op_window window = { .axes = x->rank - 2 };

    cpu_window_make(&window, x, y, out);
}

static int lrn_plan(struct cpu_op *p)
{
    uint32_t least = p->op.params.lrn.region == FERRY_LRN_WITHIN ? 4 : 2;

    if (!cpu_op_is_real(p) || p->op.in[0].rank < least || p->op.in[0].rank > 2 + FERRY_OP_SPATIAL ||
        p->op.params.lrn.region > FERRY_LRN_WITHIN)
        return FERRY_EUNSUPPORTED;
    window_of(&p->op.in[0], &p->op.out[0], &p->plan.window);
    return 0;
}

static void lrn_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct lrn l = { .loops = p->loops,
                     .window = w,
                     .is_across = p->op.params.lrn.region == FERRY_LRN_ACROSS,
                     .size = p->op.params.lrn.size,
                     .alpha = p->op.params.lrn.alpha,
                     .beta = p->op.params.lrn.beta,
                     .k = p->op.params.lrn.k,
                     .x = args->in[0],
                     .y = args->out[0] };
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    int64_t rows = w->images * w->in[0] * w->in[1];

    cpu_pixels_begin(w, LRN_BLOCK, &l.pixels);
    cpu_pixels_add(&l.pixels, w->x);
    cpu_pixels_add(&l.pixels, w->y);
    if (p->op.n_out > 1) {
        struct cpu_window of_scale;

        window_of(&p->op.in[0], &p->op.out[1], &of_scale);
        for (int i = 0; i < 5; i++)
            l.scale_stride[i] = of_scale.y[i];
        l.scale = args->out[1];
        cpu_pixels_add(&l.pixels, l.scale_stride);
    }
    if (is_f32 && is_usual(&l) && l.pixels.run > 1)
        cpu_pixels_all(&l.pixels, d->workers, 16 * w->channels, lrn_blocks, &l);
    else
        workers_run(d->workers, rows, walk_piece_of(rows, 64 * w->in[2] * w->channels),
                    is_f32 ? lrn_rows_f32 : lrn_rows_f64, &l);
}

const struct cpu_op_kind cpu_op_lrn = {
    .kind = FERRY_OP_LRN,
    .plan = lrn_plan,
    .run = lrn_run,
};
