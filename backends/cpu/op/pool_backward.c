/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"
#include "rows.h"

#include <ferry/op_types.h>
#include <string.h>

/*
 * POOL backward, one plane after another. Each window adds to its elements of a plane that is
 * initially 0, in order, so that a plane's sums do not depend on threads.
 */

struct giving {
    const struct cpu_loops *loops;
    const struct cpu_window *window; /* x is dx, y is dy */
    bool is_max, is_padded, mask_is_i32;
    struct cpu_span whole[3]; /* the windows that are not clipped along an axis */
    bool is_disjoint, covers; /* is_disjoint: these are processed by vectors; covers: they are all
                               * windows */
    const void *dy, *mask;
    void *dx;
    int64_t mask_stride[5];
};

/* One window: its clipped extent, and the divisor of the average. */
struct held {
    int64_t first[3], end[3], padded, valid;
};

static void hold(const struct cpu_window *w, int axis, int64_t at, struct held *h)
{
    int64_t first = at * w->stride[axis] - w->pad[axis], end = first + w->kernel[axis];
    int64_t limit = w->in[axis] + w->pad_end[axis];

    h->padded *= (end < limit ? end : limit) - first;
    h->first[axis] = first > 0 ? first : 0;
    h->end[axis] = end < w->in[axis] ? end : w->in[axis];
    h->valid *= h->end[axis] > h->first[axis] ? h->end[axis] - h->first[axis] : 0;
}

/* The position in its plane that a mask contains; −1 if it is not valid. */
static int64_t mask_at(const struct giving *g, int64_t at, int64_t plane)
{
    float real;

    if (g->mask_is_i32)
        return ((const int32_t *)g->mask)[at];
    real = ((const float *)g->mask)[at];
    return real >= 0 && real < (float)plane && (float)(int64_t)real == real ? (int64_t)real : -1;
}

/*
 * Whether unclipped windows are processed by vectors: size 2, stride 2, contiguous rows of dx, no
 * overlap. F32.
 */
static bool is_disjoint(const struct giving *g, const struct cpu_window *of_mask)
{
    const struct cpu_window *w = g->window;

    return w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 && w->kernel[2] == 2 &&
           w->stride[2] == 2 && w->kernel[1] <= w->stride[1] && w->x[4] == 1 &&
           w->x[3] == w->in[2] && w->y[4] == 1 && of_mask->y[4] == 1 &&
           w->in[1] * w->in[2] <= 1 << 24;
}

/* Whether these windows cover every element of the plane. */
static bool covers(const struct giving *g)
{
    const struct cpu_window *w = g->window;

    return w->pad[1] == 0 && w->pad[2] == 0 && g->whole[1].end == w->out[1] &&
           g->whole[2].end == w->out[2] && w->kernel[1] == w->stride[1] &&
           w->out[1] * w->stride[1] == w->in[1] && w->out[2] * w->stride[2] == w->in[2];
}

/*
 * Processes the windows of a plane that are clipped along neither axis; other elements are not
 * written.
 */
static void give_inside(const struct giving *g, const void *dy, int64_t mask, void *dx)
{
    const struct cpu_window *w = g->window;
    int64_t row = g->whole[1].first, column = g->whole[2].first;
    const struct cpu_given_lines lines = {
        .lines = g->whole[1].end - row,
        .windows = g->whole[2].end - column,
        .rows = w->kernel[1],
        .dy = (const float *)dy + row * w->y[3] + column,
        .mask = (const float *)g->mask + mask + row * g->mask_stride[3] + column,
        .dy_line = w->y[3],
        .mask_line = g->mask_stride[3],
        .mask_is_i32 = g->mask_is_i32,
        .number = (row * w->stride[1] - w->pad[1]) * w->in[2] + column * 2 - w->pad[2],
        .width = w->in[2],
        .down = w->stride[1],
        .dx = dx,
    };

    g->loops->give_lines(&lines);
}

#define IMPL "pool_backward_impl.h"
#include "reals_impl.h"

static int data_plan(struct cpu_op *p)
{
    uint32_t mask = p->op.n_in > 1 ? p->op.in[1].dtype : FERRY_F32, dtype = p->op.out[0].dtype;

    if ((dtype != FERRY_F32 && dtype != FERRY_F64) || !cpu_op_is_all(p, dtype, 1, 1) ||
        (mask != FERRY_F32 && mask != FERRY_I32))
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, &p->op.out[0], &p->op.in[0], &p->plan.window);
    return 0;
}

static void data_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct giving g = { .loops = p->loops,
                        .window = w,
                        .is_max = p->op.params.pool.method == FERRY_POOL_MAX,
                        .is_padded = p->op.params.pool.divisor == FERRY_POOL_DIVISOR_PADDED,
                        .dy = args->in[0],
                        .dx = args->out[0] };
    int64_t planes = w->images * w->channels;
    int64_t cost = 4 * (w->in[0] * w->in[1] * w->in[2] + 4 * w->out[0] * w->out[1] * w->out[2]);

    for (int i = 0; i < 3; i++)
        g.whole[i] = cpu_window_whole(w, i);
    if (g.is_max) {
        struct cpu_window of_mask;

        cpu_window_make(&p->op.params.window, &p->op.out[0], &p->op.in[1], &of_mask);
        memcpy(g.mask_stride, of_mask.y, sizeof(g.mask_stride));
        g.is_disjoint = p->op.out[0].dtype == FERRY_F32 && is_disjoint(&g, &of_mask);
        g.covers = g.is_disjoint && covers(&g);
        g.mask = args->in[1];
        g.mask_is_i32 = p->op.in[1].dtype == FERRY_I32;
    }
    workers_run(d->workers, planes, walk_piece_of(planes, cost),
                p->op.out[0].dtype == FERRY_F32 ? give_planes_f32 : give_planes_f64, &g);
}

const struct cpu_op_kind cpu_op_pool_data = {
    .kind = FERRY_OP_POOL,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = data_plan,
    .run = data_run,
};
