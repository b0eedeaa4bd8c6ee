/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <math.h>
#include <string.h>

/*
 * POOL of bytes: maxima are computed as bytes, averages from sums of 32 bits. All channels of a
 * window are computed at once if they are contiguous, else one by one.
 */

bool cpu_integer_affine(const struct cpu_op *p, struct cpu_integer_store *out)
{
    const ferry_op_step *s = &p->op.epilogue[0];

    *out = (struct cpu_integer_store){
        .dtype = p->op.out[0].dtype, .least = -INFINITY, .most = INFINITY, .factor = 1
    };
    if (!p->op.n_epilogue)
        return true;
    out->factor = (float)s->b;
    out->term = (float)s->c;
    return p->op.n_epilogue == 1 && s->step == FERRY_STEP_UNARY &&
           s->function == FERRY_UNARY_POWER && s->a == 1;
}

struct pool {
    const struct cpu_op *op;
    struct cpu_integer_store store;
    const uint8_t *x;
    char *y;
};

/* Computes one window of all channels; y is contiguous; `sums` has room for each channel. */
static void pool_window(const struct pool *pool, const struct cpu_integer_pool *window,
                        int64_t divisor, int32_t *sums, char *y)
{
    const struct cpu_op *p = pool->op;
    const struct cpu_integer_loops *loops = p->integer.loops;
    int64_t size = p->op.out[0].dtype == FERRY_F32 ? 4 : 1;
    struct cpu_integer_store store = pool->store;

    if (p->op.params.pool.method == FERRY_POOL_MAX) {
        if (p->op.out[0].dtype == p->op.in[0].dtype && !p->op.n_epilogue) {
            loops->most(window, (uint8_t *)y);
            return;
        }
        loops->most(window, (uint8_t *)sums);
        loops->convert(&store, window->channels, p->op.in[0].dtype, sums, y);
        return;
    }
    loops->total(window, sums);
    store.factor *= divisor ? 1 / (float)divisor : 0;
    for (int64_t c = 0; c < window->channels; c += INTEGER_MOST_COLUMNS)
        loops->store(&store, 0, least(window->channels - c, INTEGER_MOST_COLUMNS), 1, sums + c,
                     &(struct cpu_integer_place){ .y = y + c * size });
}

/*
 * Computes the window at position `at` of an image, for contiguous channels: all of them, or one at
 * a time.
 */
static void pool_at(const struct pool *pool, int64_t image, const int64_t *at, int32_t *sums)
{
    const struct cpu_op *p = pool->op;
    const struct cpu_window *w = &p->plan.window;
    int64_t size = p->op.out[0].dtype == FERRY_F32 ? 4 : 1;
    bool is_dense = w->channels == 1 || (w->x[1] == 1 && w->y[1] == 1);
    struct cpu_integer_pool window = { .x = pool->x + image * w->x[0],
                                       .channels = is_dense ? w->channels : 1,
                                       .is_signed = p->op.in[0].dtype == FERRY_I8 };
    int64_t first[3], end[3], y = image * w->y[0];
    int64_t divisor = cpu_window_clip(w, p->op.params.pool.divisor, at, first, end);

    for (int i = 0; i < 3; i++) {
        window.count[i] = end[i] > first[i] ? end[i] - first[i] : 0;
        window.step[i] = w->x[2 + i];
        window.x += first[i] * w->x[2 + i];
        y += at[i] * w->y[2 + i];
    }
    for (int64_t c = 0; c < w->channels; c += window.channels, window.x += w->x[1])
        pool_window(pool, &window, divisor, sums, pool->y + (y + c * w->y[1]) * size);
}

/* Computes lines of y, by number. */
static void pool_lines(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pool *pool = arg;
    const struct cpu_window *w = &pool->op->plan.window;
    int32_t sums[CPU_INTEGER_CHANNELS];

    (void)piece;
    for (int64_t line = first; line < first + count; line++) {
        int64_t at[3] = { line / w->out[1] % w->out[0], line % w->out[1], 0 };

        for (; at[2] < w->out[2]; at[2]++)
            pool_at(pool, line / w->out[1] / w->out[0], at, sums);
    }
}

static void pool_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct pool pool = { .op = p, .x = args->in[0], .y = args->out[0] };
    int64_t lines = w->images * w->out[0] * w->out[1];

    cpu_integer_affine(p, &pool.store);
    workers_run(d->workers, lines, walk_piece_of(lines, w->out[2] * w->channels * (w->taps + 1)),
                pool_lines, &pool);
}

static const struct cpu_op_kind pool_kind = { .run = pool_run };

int cpu_integer_pool_plan(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.window;
    struct cpu_integer_store store;

    if (!p->integer.loops || w->channels > CPU_INTEGER_CHANNELS || w->taps > CPU_INTEGER_TAPS ||
        !cpu_integer_affine(p, &store))
        return FERRY_EUNSUPPORTED;
    p->kind = &pool_kind;
    p->answer.epilogue = p->op.n_epilogue;
    cpu_op_prefer_channels_last(p);
    return 0;
}
