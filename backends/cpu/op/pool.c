/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"

#include <float.h>

/* POOL: window by window; where channels lie side by side, all channels of a window at once. */

struct pool {
    const struct cpu_op *op;
    const struct cpu_window *window;
    uint32_t method, divisor;
    const void *x;
    void *y, *mask;
    int64_t mask_stride[5];
    bool is_f32, mask_is_i32;
};

/* What of the input one window sees. */
struct range {
    int64_t first[3], end[3], divisor;
    int64_t mask_at; /* of channel 0 */
};

static void put_mask(const struct pool *p, const struct range *r, int64_t channel, int64_t where)
{
    int64_t at = r->mask_at + channel * p->mask_stride[1];

    if (p->mask_is_i32)
        ((int32_t *)p->mask)[at] = (int32_t)where;
    else
        ((float *)p->mask)[at] = (float)where;
}

#define T          float
#define NAME(name) name##_f32
#include "pool_impl.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "pool_impl.h"

/* Clips a window; the average's divisor may count the padding. */
static void clip(const struct pool *p, const int64_t *at, struct range *out)
{
    const struct cpu_window *w = p->window;
    int64_t padded = 1, valid = 1;

    for (int i = 0; i < 3; i++) {
        int64_t first = at[i] * w->stride[i] - w->pad[i], end = first + w->kernel[i];

        if (end > w->in[i] + w->pad_end[i])
            end = w->in[i] + w->pad_end[i];
        padded *= end - first;
        out->first[i] = first > 0 ? first : 0;
        out->end[i] = end < w->in[i] ? end : w->in[i];
        valid *= out->end[i] > out->first[i] ? out->end[i] - out->first[i] : 0;
    }
    out->divisor = p->divisor == FERRY_POOL_DIVISOR_VALID ? valid : padded;
}

/* One window of every channel, side by side in x and y. */
static void pool_vectors(const struct pool *p, const struct range *r, const float *x, int64_t y_at)
{
    const struct cpu_window *w = p->window;
    struct cpu_pool_window window = { .x = x,
                                      .channels = w->channels,
                                      .is_average = p->method == FERRY_POOL_AVERAGE,
                                      .divisor = (float)r->divisor,
                                      .y = (float *)p->y + y_at };

    for (int i = 0; i < 3; i++) {
        window.count[i] = r->end[i] - r->first[i];
        window.step[i] = w->x[2 + i];
        window.x += r->first[i] * w->x[2 + i];
    }
    p->op->loops->pool(&window);
}

static void pool_any(const struct pool *p, const struct range *r, const void *x, int64_t x_at,
                     int64_t y_at)
{
    const struct cpu_window *w = p->window;

    if (!p->is_f32)
        pool_window_f64(p, r, (const double *)x + x_at, p->y, y_at);
    else if (w->x[1] == 1 && w->y[1] == 1 && !p->mask)
        pool_vectors(p, r, (const float *)x + x_at, y_at);
    else
        pool_window_f32(p, r, (const float *)x + x_at, p->y, y_at);
}

/* Windows of images and outermost axes: `first` counts rows of them. */
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

        for (; at[2] < w->out[2]; at[2]++) {
            struct range r;

            clip(p, at, &r);
            r.mask_at = mask_at + at[2] * p->mask_stride[4];
            pool_any(p, &r, p->x, image * w->x[0], y_at + at[2] * w->y[4]);
        }
    }
}

static int pool_plan(struct cpu_op *p)
{
    uint32_t mask = p->op.n_out > 1 ? p->op.out[1].dtype : FERRY_F32;

    if ((p->op.out[0].dtype != FERRY_F32 && p->op.out[0].dtype != FERRY_F64) ||
        !cpu_op_is_all(p, p->op.out[0].dtype, 1, 1) || (mask != FERRY_F32 && mask != FERRY_I32) ||
        p->op.params.pool.method > FERRY_POOL_AVERAGE)
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[0], &p->plan.window);
    cpu_op_prefer_channels_last(p);
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
                         .is_f32 = p->op.out[0].dtype == FERRY_F32 };
    int64_t rows = w->images * w->out[0] * w->out[1];
    int64_t cost = w->out[2] * w->channels * (w->taps + 1) * 4;

    if (p->op.n_out > 1) {
        struct cpu_window of_mask;

        cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[1], &of_mask);
        for (int i = 0; i < 5; i++)
            pool.mask_stride[i] = of_mask.y[i];
        pool.mask = args->out[1];
        pool.mask_is_i32 = p->op.out[1].dtype == FERRY_I32;
    }
    workers_run(d->workers, rows, walk_piece_of(rows, cost), pool_rows, &pool);
}

const struct cpu_op_kind cpu_op_pool = {
    .kind = FERRY_OP_POOL,
    .plan = pool_plan,
    .run = pool_run,
};
