/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows of POOL with contiguous channels, for an instruction set: see vector.h. No include guard.
 */

/*
 * The elements of a column: channels are processed by vectors, or one by one if there are fewer
 * than lanes.
 */
INLINE vec NAME(pool_column)(const VALUE *x, int64_t rows, int64_t row)
{
    vec most = SPLAT(-3.402823466e38f);

    for (int64_t j = 0; j < rows; j++)
        most = MORE(LOAD_VALUE(x + j * row), most);
    return most;
}

/*
 * The maximum of three columns, with stride 1 or 2: columns that two windows share are computed
 * once.
 */
INLINE void NAME(pool_three)(const struct cpu_pool_window *w, int64_t rows, bool is_close,
                             int64_t c)
{
    const int64_t row = w->step[1], step = w->step[2];
    const VALUE *x = (const VALUE *)w->x + c;
    VALUE *y = (VALUE *)w->y + c;
    vec a = NAME(pool_column)(x, rows, row), b = a, v;

    if (is_close)
        b = NAME(pool_column)(x + step, rows, row);
    for (int64_t i = 0; i < w->windows; i++, x += w->next, y += w->y_next) {
        if (!is_close)
            b = NAME(pool_column)(x + step, rows, row);
        v = NAME(pool_column)(x + 2 * step, rows, row);
        STORE_VALUE(y, MORE(v, MORE(b, a)));
        a = is_close ? b : v;
        b = v;
    }
}

/* Computes a vector of channels, or one channel, of any window. */
INLINE void NAME(pool_some)(const struct cpu_pool_window *w, int64_t at, int64_t c, VALUE *y,
                            bool is_whole)
{
    vec sum = SPLAT(w->is_average ? 0.0f : -3.402823466e38f), v;

    for (int64_t i = 0; i < w->count[0]; i++)
        for (int64_t j = 0; j < w->count[1]; j++) {
            const VALUE *x = (const VALUE *)w->x + at + c + i * w->step[0] + j * w->step[1];

            for (int64_t k = 0; k < w->count[2]; k++, x += w->step[2]) {
                if (is_whole)
                    v = LOAD_VALUE(x);
                else
                    v = SPLAT(LOAD_ONE(x));
                if (w->is_average)
                    sum += v;
                else
                    sum = MORE(v, sum);
            }
        }
    if (w->is_average && w->divisor > 0)
        sum /= SPLAT(w->divisor);
    if (is_whole)
        STORE_VALUE(y + c, sum);
    else
        STORE_ONE(y + c, sum[0]);
}

INLINE void NAME(pool_vector)(const struct cpu_pool_window *w, int64_t c)
{
    bool is_close = w->next == w->step[2];
    bool is_three = !w->is_average && w->count[0] == 1 && w->count[2] == 3 && w->windows > 1 &&
                    (is_close || w->next == 2 * w->step[2]);

    for (int64_t i = 0; i < w->windows && !is_three; i++)
        NAME(pool_some)(w, i * w->next, c, (VALUE *)w->y + i * w->y_next, true);
    if (is_three && w->count[1] == 3)
        NAME(pool_three)(w, 3, is_close, c);
    else if (is_three)
        NAME(pool_three)(w, w->count[1], is_close, c);
}

TARGET static void NAME(pool)(const struct cpu_pool_window *w)
{
    bool is_few = w->channels < LANES;

    for (int64_t c = 0; c < w->channels && !is_few; c += LANES) {
        if (c + LANES > w->channels) /* the last vector overlaps the previous one */
            c = w->channels - LANES;
        NAME(pool_vector)(w, c);
    }
    for (int64_t i = 0; i < w->windows && is_few; i++)
        for (int64_t c = 0; c < w->channels; c++)
            NAME(pool_some)(w, i * w->next, c, (VALUE *)w->y + i * w->y_next, false);
}
