/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows of lines of POOL, forward and backward, for an instruction set: see vector.h. No include
 * guard.
 */

INLINE ivec NAME(lane_numbers)(void)
{
    ivec lanes = { 0 };

    for (int i = 0; i < LANES; i++)
        lanes[i] = i;
    return lanes;
}

/* Loads the elements of n windows, 0 < n ≤ LANES, at one position of each window. */
INLINE vec NAME(window_elements)(const float *x, int64_t step, int64_t n)
{
    int64_t all = 2 * n - 1;

    if (step == 1)
        return n == LANES ? LOAD(x) : LOAD_SOME(x, n);
    if (all <= LANES)
        return EVENS(LOAD_SOME(x, all), (vec){ 0 });
    return EVENS(LOAD(x), LOAD_SOME(x + LANES, all - LANES));
}

INLINE void NAME(put_numbers)(const struct cpu_pool_lines *l, int64_t at, int64_t n, ivec where)
{
    if (l->mask_is_i32)
        STORE_SOME((float *)l->mask + at, n, (vec)where);
    else
        STORE_SOME((float *)l->mask + at, n, __builtin_convertvector(where, vec));
}

INLINE void NAME(average_some)(const struct cpu_pool_lines *l, const float *x, float *y, int64_t n)
{
    vec sum = { 0 };

    for (int64_t i = 0; i < l->rows; i++, x += l->row)
        for (int64_t k = 0; k < l->columns; k++)
            sum += NAME(window_elements)(x + k, l->step, n);
    if (l->divisor > 0)
        sum /= SPLAT(l->divisor);
    STORE_SOME(y, n, sum);
}

INLINE ivec NAME(most_some)(const struct cpu_pool_lines *l, const float *x, int64_t number,
                            float *y, int64_t n)
{
    ivec first = NAME(lane_numbers)() * (int32_t)l->step + (int32_t)number;
    ivec where = (ivec){ 0 } - 1;
    vec most = SPLAT(-3.402823466e38f);

    for (int64_t i = 0; i < l->rows; i++, x += l->row, first += (int32_t)l->width)
        for (int64_t k = 0; k < l->columns; k++) {
            const vec v = NAME(window_elements)(x + k, l->step, n);

            where = IF_MORE(v, most, first + (int32_t)k, where);
            most = MORE(v, most);
        }
    STORE_SOME(y, n, most);
    return where;
}

TARGET static void NAME(pool_lines)(const struct cpu_pool_lines *l)
{
    for (int64_t i = 0; i < l->lines; i++)
        for (int64_t at = 0; at < l->windows; at += LANES) {
            const int64_t n = l->windows - at < LANES ? l->windows - at : LANES;
            const int64_t number = l->number + i * l->down * l->width + at * l->step;
            const float *x = l->x + i * l->down * l->row + at * l->step;
            float *y = l->y + i * l->y_line + at;

            if (l->is_average)
                NAME(average_some)(l, x, y, n);
            else if (l->mask)
                NAME(put_numbers)
            (l, i * l->mask_line + at, n, NAME(most_some)(l, x, number, y, n));
            else NAME(most_some)(l, x, number, y, n);
        }
}

/* Processes some windows. Indices are below 2^24, so that floats represent them exactly. */
TARGET static void NAME(give_some)(const struct cpu_given_lines *l, int64_t line, int64_t at,
                                   int64_t n)
{
    const int64_t begin = l->number + line * l->down * l->width + 2 * at;
    const vec dy = LOAD_SOME(l->dy + line * l->dy_line + at, n);
    vec named = LOAD_SOME((const float *)l->mask + line * l->mask_line + at, n);
    ivec number = NAME(lane_numbers)() * 2 + (int32_t)begin;
    float *dx = l->dx + begin;

    if (l->mask_is_i32)
        named = __builtin_convertvector((ivec)named, vec);
    for (int64_t i = 0; i < l->rows; i++, dx += l->width, number += (int32_t)l->width) {
        const vec left = IF_SAME(named, __builtin_convertvector(number, vec), dy);
        const vec right = IF_SAME(named, __builtin_convertvector(number + 1, vec), dy);

        STORE_SOME(dx, 2 * n < LANES ? 2 * n : LANES, ZIP_LOW(left, right));
        if (2 * n > LANES)
            STORE_SOME(dx + LANES, 2 * n - LANES, ZIP_HIGH(left, right));
    }
}

TARGET static void NAME(give_lines)(const struct cpu_given_lines *l)
{
    for (int64_t i = 0; i < l->lines; i++)
        for (int64_t at = 0; at < l->windows; at += LANES)
            NAME(give_some)(l, i, at, l->windows - at < LANES ? l->windows - at : LANES);
}
