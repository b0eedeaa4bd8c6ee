/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"

#include <ferry/op_types.h>
#include <math.h>

/*
 * The data passes of LRN, pixel by pixel or by blocks of contiguous pixels, and of RESIZE, plane by
 * plane.
 */

struct neighbours {
    const struct cpu_loops *loops;
    const struct cpu_window *window; /* the window of dx */
    bool is_across;
    int64_t half;
    double beta, factor; /* 2·alpha·beta/n */
    const void *in[4];   /* the inputs dy, x, y, scale */
    int64_t stride[4][5];
    void *dx;
    struct cpu_pixels pixels;
};

/* scale^−beta; a beta of 3/4 is computed by square roots. */
static double damping(double scale, double beta)
{
    if (beta == 0.75 && scale > 0)
        return 1 / (sqrt(scale) * sqrt(sqrt(scale)));
    return pow(scale, -beta);
}

struct spreading {
    const struct cpu_window *window; /* x is dx, y is dy */
    const ferry_op_params *params;
    const void *dy;
    void *dx;
};

#define IMPL "image_backward_impl.h"
#include "reals_impl.h"

/* ---- lrn ------------------------------------------------------------------------------------ */

static int lrn_plan(struct cpu_op *p)
{
    const ferry_op_window window = { .axes = p->op.out[0].rank - 2 };

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&window, &p->op.out[0], &p->op.out[0], &p->plan.window);
    return 0;
}

/* Whether the instruction set's loops support this LRN. */
static bool is_usual(const struct neighbours *s)
{
    return s->is_across && s->beta == 0.75 && s->half < LRN_RING / 2 && s->pixels.run > 1;
}

static void lrn_blocks(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct neighbours *s = arg;
    const struct cpu_window *w = s->window;
    struct cpu_lrn_back b = {
        .dx_channel = w->x[1], .channels = w->channels, .half = s->half, .factor = (float)s->factor
    };

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        struct cpu_pixel_block p = cpu_pixels_block(&s->pixels, i);

        for (int k = 0; k < 4; k++) {
            b.in[k] = (const float *)s->in[k] + cpu_pixels_at(&p, s->stride[k]);
            b.in_channel[k] = s->stride[k][1];
        }
        b.dx = (float *)s->dx + cpu_pixels_at(&p, w->x);
        b.pixels = p.pixels;
        s->loops->lrn_back(&b);
    }
}

static void lrn_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const ferry_op_window window = { .axes = p->op.out[0].rank - 2 };
    const struct cpu_window *w = &p->plan.window;
    const ferry_op_params *params = &p->op.params;
    double n = (double)params->lrn.size;
    struct neighbours s = { .loops = p->loops,
                            .window = w,
                            .is_across = params->lrn.region == FERRY_LRN_ACROSS,
                            .half = params->lrn.size / 2,
                            .beta = params->lrn.beta,
                            .dx = args->out[0] };
    bool is_f32 = p->op.out[0].dtype == FERRY_F32;
    int64_t rows = w->images * w->in[0] * w->in[1];

    cpu_pixels_begin(w, LRN_BLOCK, &s.pixels);
    cpu_pixels_add(&s.pixels, w->x);
    s.factor = 2 * params->lrn.alpha * params->lrn.beta / (s.is_across ? n : n * n);
    for (int i = 0; i < 4; i++) {
        struct cpu_window of;

        cpu_window_make(&window, &p->op.in[i], &p->op.in[i], &of);
        for (int k = 0; k < 5; k++)
            s.stride[i][k] = of.x[k];
        s.in[i] = args->in[i];
        cpu_pixels_add(&s.pixels, s.stride[i]);
    }
    if (is_f32 && is_usual(&s))
        cpu_pixels_all(&s.pixels, d->workers, 32 * w->channels, lrn_blocks, &s);
    else
        workers_run(d->workers, rows, walk_piece_of(rows, 64 * w->in[2] * w->channels + 1),
                    is_f32 ? lrn_rows_f32 : lrn_rows_f64, &s);
}

const struct cpu_op_kind cpu_op_lrn_data = {
    .kind = FERRY_OP_LRN,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = lrn_plan,
    .run = lrn_run,
};

/* ---- resize --------------------------------------------------------------------------------- */

static int resize_plan(struct cpu_op *p)
{
    const ferry_op_window window = { .axes = 2 };

    if (!cpu_op_is_real(p))
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&window, &p->op.out[0], &p->op.in[0], &p->plan.window);
    return 0;
}

static void resize_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct spreading s = { w, &p->op.params, args->in[0], args->out[0] };
    int64_t planes = w->images * w->channels;

    workers_run(d->workers, planes,
                walk_piece_of(planes, 4 * w->in[1] * w->in[2] + 40 * w->out[1] * w->out[2]),
                p->op.out[0].dtype == FERRY_F32 ? spread_planes_f32 : spread_planes_f64, &s);
}

const struct cpu_op_kind cpu_op_resize_data = {
    .kind = FERRY_OP_RESIZE,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = resize_plan,
    .run = resize_run,
};
