/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <math.h>
#include <string.h>

/*
 * POOL of bytes: maxima as bytes, averages from sums of 32 bits; all channels of a window at once
 * if they are contiguous, else one by one.
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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One window of all channels: y is contiguous; `sums` has room for each channel. */
static void pool_window(const struct cpu_op *p, const struct cpu_integer_pool *window,
                        int64_t divisor, int32_t *sums, void *y)
{
    const struct cpu_integer_loops *loops = p->integer.loops;
    int64_t size = p->op.out[0].dtype == FERRY_F32 ? 4 : 1;
    struct cpu_integer_store store;

    cpu_integer_affine(p, &store);
    if (p->op.params.pool.method == FERRY_POOL_MAX) {
        if (p->op.out[0].dtype == p->op.in[0].dtype && !p->op.n_epilogue) {
            loops->most(window, y);
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
                     &(struct cpu_integer_place){ .y = (char *)y + c * size });
}

/* The part of an axis under window `at`, and the elements that the divisor counts. */
static int64_t clip(const struct cpu_op *p, int i, int64_t at, int64_t *out_first,
                    int64_t *out_count)
{
    const struct cpu_window *w = &p->plan.window;
    int64_t first = at * w->stride[i] - w->pad[i], end = first + w->kernel[i], padded;

    if (end > w->in[i] + w->pad_end[i])
        end = w->in[i] + w->pad_end[i];
    padded = end - first;
    *out_first = first > 0 ? first : 0;
    end = end < w->in[i] ? end : w->in[i];
    *out_count = end > *out_first ? end - *out_first : 0;
    return p->op.params.pool.divisor == FERRY_POOL_DIVISOR_VALID ? *out_count : padded;
}

struct pool {
    const struct cpu_op *op;
    const uint8_t *x;
    char *y;
};

/* Lines of y, by number. */
static void pool_lines(void *arg, int64_t first, int64_t count, int64_t piece)
{
    const struct pool *pool = arg;
    const struct cpu_op *p = pool->op;
    const struct cpu_window *w = &p->plan.window;
    int64_t size = p->op.out[0].dtype == FERRY_F32 ? 4 : 1;
    int32_t sums[CPU_INTEGER_CHANNELS];
    bool is_dense = w->channels == 1 || (w->x[1] == 1 && w->y[1] == 1);

    (void)piece;
    for (int64_t line = first; line < first + count; line++) {
        int64_t at[3] = { line / w->out[1] % w->out[0], line % w->out[1], 0 };
        int64_t image = line / w->out[1] / w->out[0];

        for (; at[2] < w->out[2]; at[2]++) {
            struct cpu_integer_pool window = { .x = pool->x + image * w->x[0],
                                               .channels = w->channels,
                                               .is_signed = p->op.in[0].dtype == FERRY_I8 };
            int64_t divisor = 1, begin, y = image * w->y[0];

            for (int i = 0; i < 3; i++) {
                divisor *= clip(p, i, at[i], &begin, &window.count[i]);
                window.step[i] = w->x[2 + i];
                window.x += begin * w->x[2 + i];
                y += at[i] * w->y[2 + i];
            }
            if (!is_dense)
                window.channels = 1;
            for (int64_t c = 0; c < w->channels; c += window.channels) {
                pool_window(p, &window, divisor, sums, pool->y + (y + c * w->y[1]) * size);
                window.x += w->x[1];
            }
        }
    }
}

static void pool_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.window;
    struct pool pool = { .op = p, .x = args->in[0], .y = args->out[0] };
    int64_t lines = w->images * w->out[0] * w->out[1];

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
