/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"
#include "values.h"

#include <ferry/op_types.h>
#include <float.h>
#include <string.h>

/*
 * POOL computes one window after another; with contiguous channels, all channels of a window at
 * once.
 */

struct pool {
    const struct cpu_op *op;
    const struct cpu_window *window;
    uint32_t method, divisor;
    const void *x;
    void *y, *mask;
    int64_t mask_stride[5];
    bool is_f32, is_bf16, mask_is_i32;
    struct cpu_span whole[3]; /* the windows that are not clipped along an axis */
    bool has_edges;           /* some windows are clipped along the last axis */
};

/* The part of the input under one window. */
struct range {
    int64_t first[3], end[3], divisor;
    int64_t mask_at; /* the offset in the mask of channel 0 */
};

static void put_mask(const struct pool *p, const struct range *r, int64_t channel, int64_t where)
{
    int64_t at = r->mask_at + channel * p->mask_stride[1];

    if (p->mask_is_i32)
        ((int32_t *)p->mask)[at] = (int32_t)where;
    else
        ((float *)p->mask)[at] = (float)where;
}

#define IMPL "pool_impl.h"
#include "reals_impl.h"

static void clip(const struct pool *p, const int64_t *at, struct range *out)
{
    out->divisor = cpu_window_clip(p->window, p->divisor, at, out->first, out->end);
}

/*
 * Computes windows of a line with the same extent as this one, for every channel, contiguous in x
 * and y.
 */
static void pool_vectors(const struct pool *p, const struct range *r, int64_t windows, int64_t x_at,
                         int64_t y_at)
{
    const struct cpu_window *w = p->window;
    int64_t size = p->is_bf16 ? 2 : 4;
    struct cpu_pool_window window = { .channels = w->channels,
                                      .is_average = p->method == FERRY_POOL_AVERAGE,
                                      .divisor = (float)r->divisor,
                                      .y = (char *)p->y + y_at * size,
                                      .windows = windows,
                                      .next = w->stride[2] * w->x[4],
                                      .y_next = w->y[4] };

    for (int i = 0; i < 3; i++) {
        window.count[i] = r->end[i] - r->first[i];
        window.step[i] = w->x[2 + i];
        x_at += r->first[i] * w->x[2 + i];
    }
    window.x = (const char *)p->x + x_at * size;
    if (p->is_bf16)
        cpu_values_bf16->pool(&window);
    else
        p->op->loops->pool(&window);
}

static bool goes_by_vectors(const struct pool *p)
{
    return (p->is_f32 || p->is_bf16) && p->window->x[1] == 1 && p->window->y[1] == 1 && !p->mask;
}

static void pool_any(const struct pool *p, const struct range *r, const void *x, int64_t x_at,
                     int64_t y_at)
{
    if (p->is_f32)
        pool_window_f32(p, r, (const float *)x + x_at, p->y, y_at);
    else
        pool_window_f64(p, r, (const double *)x + x_at, p->y, y_at);
}

/* Computes windows of images and outermost axes; `first` counts rows of them. */
static void pool_rows(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pool *p = arg;
    const struct cpu_window *w = p->window;

    (void)piece;
    for (int64_t row = first; row < first + count; row++) {
        int64_t at[3] = { row / w->out[1] % w->out[0], row % w->out[1], 0 };
        int64_t image = row / w->out[1] / w->out[0];
        int64_t y_at = image * w->y[0] + at[0] * w->y[2] + at[1] * w->y[3];
        int64_t mask_at =
            image * p->mask_stride[0] + at[0] * p->mask_stride[2] + at[1] * p->mask_stride[3];

        for (int64_t n = 1; at[2] < w->out[2]; at[2] += n) {
            bool is_whole = at[2] >= p->whole[2].first && at[2] < p->whole[2].end;
            struct range r;

            clip(p, at, &r);
            r.mask_at = mask_at + at[2] * p->mask_stride[4];
            n = is_whole && goes_by_vectors(p) ? p->whole[2].end - at[2] : 1;
            if (goes_by_vectors(p))
                pool_vectors(p, &r, n, image * w->x[0], y_at + at[2] * w->y[4]);
            else
                pool_any(p, &r, p->x, image * w->x[0], y_at + at[2] * w->y[4]);
        }
    }
}

/* ---- averages of whole images ---------------------------------------------------------------- */

/* The number of pixels of a piece, whose sums are added to those of the other pieces in order. */
#define PIECE_PIXELS 64
/* The number of elements below which a second thread costs more than it helps. */
#define SMALL_IMAGE (32 * 1024)

static int64_t pixels_of(const struct cpu_window *w)
{
    return w->in[0] * w->in[1] * w->in[2];
}

static int64_t pieces_of(const struct cpu_window *w)
{
    return (pixels_of(w) + PIECE_PIXELS - 1) / PIECE_PIXELS;
}

/* Whether each channel has one average, of contiguous pixels with contiguous channels. */
static bool is_global(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.window;
    bool is_whole = p->op.params.pool.method == FERRY_POOL_AVERAGE && p->op.n_out == 1 &&
                    p->op.out[0].dtype == FERRY_F32 && w->x[1] == 1 && w->y[1] == 1 &&
                    pixels_of(w) > 1;
    int64_t pixels = w->in[2];

    for (int i = 0; i < 3; i++)
        is_whole = is_whole && w->out[i] == 1 && w->kernel[i] == w->in[i] && w->pad[i] == 0;
    for (int i = 1; i >= 0; pixels *= w->in[i--])
        is_whole = is_whole && (w->in[i] == 1 || w->x[2 + i] == pixels * w->x[4]);
    return is_whole && w->in[2] > 1;
}

struct global {
    const struct pool *pool;
    double *sums; /* the sums of the channels, for each image and piece */
};

static void sum_pieces(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct global *g = arg;
    const struct cpu_window *w = g->pool->window;
    int64_t pixels = pixels_of(w), pieces = pieces_of(w);

    (void)piece;
    for (int64_t i = first; i < first + count; i++) {
        double *sums = g->sums + i * w->channels;
        int64_t begin = i % pieces * pixels / pieces, end = (i % pieces + 1) * pixels / pieces;

        memset(sums, 0, (size_t)w->channels * sizeof(*sums));
        g->pool->op->loops->sum_rows((const float *)g->pool->x + i / pieces * w->x[0] +
                                         begin * w->x[4],
                                     end - begin, w->x[4], w->channels, sums);
    }
}

static void pool_globally(struct cpu_device *d, const struct pool *p, double *sums)
{
    const struct cpu_window *w = p->window;
    int64_t pieces = pieces_of(w), pixels = pixels_of(w), all = w->images * pieces;
    struct global g = { .pool = p, .sums = sums };

    workers_run(d->workers, all, all * pixels / pieces * w->channels < SMALL_IMAGE ? all : 1,
                sum_pieces, &g);
    for (int64_t i = 0; i < w->images; i++) {
        float *y = (float *)p->y + i * w->y[0];

        for (int64_t c = 0; c < w->channels; c++) {
            double sum = 0;

            for (int64_t k = 0; k < pieces; k++)
                sum += sums[(i * pieces + k) * w->channels + c];
            y[c] = (float)(sum / (double)pixels);
        }
    }
}

/* ---- lines of planes ------------------------------------------------------------------------- */

/* Whether the inputs and outputs of the windows of a line are contiguous. */
static bool goes_by_lines(const struct pool *p)
{
    const struct cpu_window *w = p->window;
    bool is_flat = w->in[0] == 1 && w->out[0] == 1 && w->kernel[0] == 1 && w->pad[0] == 0;

    return p->is_f32 && is_flat && w->x[4] == 1 && w->y[4] == 1 && w->stride[2] <= 2 &&
           w->in[1] * w->in[2] <= 1 << 24 && (!p->mask || p->mask_stride[4] == 1) &&
           p->whole[2].first < p->whole[2].end;
}

/*
 * Computes windows of some lines from `row` on with the same number of rows; none is clipped along
 * the line.
 */
static void pool_inside(const struct pool *p, int64_t row, int64_t lines, const float *x, float *y,
                        int64_t mask_at)
{
    const struct cpu_window *w = p->window;
    int64_t first = p->whole[2].first, column = first * w->stride[2] - w->pad[2];
    struct range r;

    clip(p, (int64_t[]){ 0, row, first }, &r);
    p->op->loops->pool_lines(&(struct cpu_pool_lines){
        .lines = lines,
        .windows = p->whole[2].end - first,
        .rows = r.end[1] - r.first[1],
        .columns = w->kernel[2],
        .x = x + r.first[1] * w->x[3] + column,
        .row = w->x[3],
        .step = w->stride[2],
        .number = r.first[1] * w->in[2] + column,
        .width = w->in[2],
        .down = w->stride[1],
        .is_average = p->method == FERRY_POOL_AVERAGE,
        .mask_is_i32 = p->mask_is_i32,
        .divisor = (float)r.divisor,
        .y = y + row * w->y[3] + first,
        .mask = p->mask ? (float *)p->mask + mask_at + row * p->mask_stride[3] + first : NULL,
        .y_line = w->y[3],
        .mask_line = p->mask_stride[3],
    });
}

/* Computes the windows of a line that are clipped along it. */
static void pool_edges(const struct pool *p, int64_t row, const float *x, float *y, int64_t mask_at)
{
    const struct cpu_window *w = p->window;
    int64_t first = p->whole[2].first, end = p->whole[2].end;

    for (int64_t i = first > 0 ? 0 : end; i < w->out[2]; i = i + 1 == first ? end : i + 1) {
        struct range r;

        clip(p, (int64_t[]){ 0, row, i }, &r);
        r.mask_at = mask_at + row * p->mask_stride[3] + i;
        pool_one_f32(p, &r, x, y + row * w->y[3] + i, 0);
    }
}

/* Computes planes; `first` counts channels of images. */
static void pool_planes(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pool *p = arg;
    const struct cpu_window *w = p->window;

    (void)piece;
    for (int64_t plane = first; plane < first + count; plane++) {
        int64_t image = plane / w->channels, channel = plane % w->channels;
        const float *x = (const float *)p->x + image * w->x[0] + channel * w->x[1];
        float *y = (float *)p->y + image * w->y[0] + channel * w->y[1];
        int64_t mask_at = image * p->mask_stride[0] + channel * p->mask_stride[1], lines;

        for (int64_t row = 0; row < w->out[1]; row += lines) {
            bool is_whole = row >= p->whole[1].first && row < p->whole[1].end;

            lines = is_whole ? p->whole[1].end - row : 1;
            pool_inside(p, row, lines, x, y, mask_at);
        }
        for (int64_t row = 0; row < w->out[1] && p->has_edges; row++)
            pool_edges(p, row, x, y, mask_at);
    }
}

/* ---- the kind ------------------------------------------------------------------------------- */

/* Plans windows of BF16 with contiguous channels; averages of whole images need sums of doubles. */
static int plan_values(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.window;

    if (!p->pairs || !cpu_values_bf16 || p->op.n_out > 1 ||
        p->op.params.pool.method > FERRY_POOL_AVERAGE)
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[0], &p->plan.window);
    return w->x[1] == 1 && w->y[1] == 1 &&
                   (p->op.params.pool.method == FERRY_POOL_MAX || w->out[1] * w->out[2] > 1)
               ? 0
               : FERRY_EUNSUPPORTED;
}

static int pool_plan(struct cpu_op *p)
{
    uint32_t mask = p->op.n_out > 1 ? p->op.out[1].dtype : FERRY_F32;

    if (cpu_is_integer(&p->op.in[0])) {
        cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[0], &p->plan.window);
        return cpu_integer_pool_plan(p);
    }
    if (cpu_op_is_all(p, FERRY_BF16, 1, 1))
        return plan_values(p);
    if ((p->op.out[0].dtype != FERRY_F32 && p->op.out[0].dtype != FERRY_F64) ||
        !cpu_op_is_all(p, p->op.out[0].dtype, 1, 1) || (mask != FERRY_F32 && mask != FERRY_I32) ||
        p->op.params.pool.method > FERRY_POOL_AVERAGE)
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[0], &p->plan.window);
    cpu_op_prefer_channels_last(p);
    if (is_global(p))
        p->answer.workspace_bytes = (uint64_t)(p->plan.window.images * pieces_of(&p->plan.window) *
                                               p->plan.window.channels) *
                                    sizeof(double);
    return 0;
}

static void pool_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct pool pool = { .op = p,
                         .window = w,
                         .method = p->op.params.pool.method,
                         .divisor = p->op.params.pool.divisor,
                         .x = args->in[0],
                         .y = args->out[0],
                         .is_f32 = p->op.out[0].dtype == FERRY_F32,
                         .is_bf16 = p->op.out[0].dtype == FERRY_BF16 };
    int64_t rows = w->images * w->out[0] * w->out[1];
    int64_t cost = w->out[2] * w->channels * (w->taps + 1) * 4;

    if (is_global(p)) {
        pool_globally(d, &pool, args->workspace);
        return;
    }
    if (p->op.n_out > 1) {
        struct cpu_window of_mask;

        cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[1], &of_mask);
        for (int i = 0; i < 5; i++)
            pool.mask_stride[i] = of_mask.y[i];
        pool.mask = args->out[1];
        pool.mask_is_i32 = p->op.out[1].dtype == FERRY_I32;
    }
    for (int i = 0; i < 3; i++)
        pool.whole[i] = cpu_window_whole(w, i);
    pool.has_edges = pool.whole[2].first > 0 || pool.whole[2].end < w->out[2];
    if (goes_by_lines(&pool)) {
        rows = w->images * w->channels;
        cost = w->in[1] * w->in[2] * 4 + w->out[1] * w->out[2] * 8;
    }
    workers_run(d->workers, rows, walk_piece_of(rows, cost),
                goes_by_lines(&pool) ? pool_planes : pool_rows, &pool);
}

const struct cpu_op_kind cpu_op_pool = {
    .kind = FERRY_OP_POOL,
    .plan = pool_plan,
    .run = pool_run,
};
