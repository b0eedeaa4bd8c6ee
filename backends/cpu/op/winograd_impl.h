/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transforms the patches and tiles of winograd.h, for an instruction set: see vector.h. No include
 * guard.
 */

#include "winograd_patch_impl.h"

/* ---- kernels -------------------------------------------------------------------------------- */

INLINE void NAME(winograd_taps_4)(const vec *g, int64_t step, vec *to)
{
    const float a2 = WINOGRAD_A * WINOGRAD_A, b2 = WINOGRAD_B * WINOGRAD_B;
    const vec at_a = SPLAT(1 / (2 * a2 * (a2 - b2))), at_b = SPLAT(1 / (2 * b2 * (b2 - a2)));
    const vec g0 = g[0], g1 = g[step], g2 = g[2 * step];
    const vec even_a = at_a * (g0 + SPLAT(a2) * g2), odd_a = at_a * (SPLAT(WINOGRAD_A) * g1);
    const vec even_b = at_b * (g0 + SPLAT(b2) * g2), odd_b = at_b * (SPLAT(WINOGRAD_B) * g1);

    to[0] = SPLAT(1 / (a2 * b2)) * g0;
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = g2;
}

INLINE void NAME(winograd_taps_2)(const vec *g, int64_t step, vec *to)
{
    const vec even = SPLAT(0.5f) * (g[0] + g[2 * step]), odd = SPLAT(0.5f) * g[step];

    to[0] = g[0];
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = g[2 * step];
}

/* Transforms a vector of kernels from c on. */
INLINE void NAME(winograd_kernel)(const struct cpu_winograd_kernels *k, int64_t side, int64_t c)
{
    const int64_t edge = side + 2;
    vec taps[9], half[18], whole[6];

#pragma GCC unroll 9
    for (int64_t i = 0; i < 9; i++)
        taps[i] = LOAD(k->w + i * k->tap + c);
#pragma GCC unroll 3
    for (int64_t j = 0; j < 3; j++)
        if (side == 4)
            NAME(winograd_taps_4)(taps + j, 3, half + j * edge);
        else
            NAME(winograd_taps_2)(taps + j, 3, half + j * edge);
#pragma GCC unroll 6
    for (int64_t i = 0; i < edge; i++) {
        if (side == 4)
            NAME(winograd_taps_4)(half + i, edge, whole);
        else
            NAME(winograd_taps_2)(half + i, edge, whole);
#pragma GCC unroll 6
        for (int64_t j = 0; j < edge; j++)
            STORE(k->u + (i * edge + j) * k->u_point + c, whole[j]);
    }
}

TARGET static void NAME(winograd_taps)(const struct cpu_winograd_kernels *k)
{
    for (int64_t c = 0; c < k->tap; c += LANES)
        if (k->side == 4)
            NAME(winograd_kernel)(k, 4, c);
        else
            NAME(winograd_kernel)(k, 2, c);
}

/* ---- results -------------------------------------------------------------------------------- */

/*
 * Transforms the six points of an axis to the first and the third pixel or, if `odd`, to the second
 * and the fourth. `outer` is the first or the last point, `m` has the others.
 */
INLINE void NAME(winograd_out_4)(const vec outer, const vec *m, const bool odd, vec *to)
{
    const vec a = SPLAT(WINOGRAD_A), b = SPLAT(WINOGRAD_B), a2 = a * a, b2 = b * b;
    const vec of_a = odd ? a * (m[0] - m[1]) : m[0] + m[1];
    const vec of_b = odd ? b * (m[2] - m[3]) : m[2] + m[3];

    to[0] = odd ? of_a + of_b : outer + of_a + of_b;
    to[1] = odd ? a2 * of_a + b2 * of_b + outer : a2 * of_a + b2 * of_b;
}

/*
 * Computes the pixels 0 and 2, or 1 and 3, of all lines of a tile; the vectors of two of each line
 * fit in registers.
 */
INLINE void NAME(winograd_tile_pixels)(const struct cpu_winograd_sums *s, const bool odd, int64_t c)
{
    enum { EDGE = 6, SIDE = 4 };
    vec half[2][EDGE];

#pragma GCC unroll 6
    for (int64_t j = 0; j < EDGE; j++) {
        const float *m = s->m + j * EDGE * s->m_point + c;
        vec at[4], two[2];

#pragma GCC unroll 4
        for (int64_t i = 0; i < 4; i++)
            at[i] = LOAD(m + (i + 1) * s->m_point);
        NAME(winograd_out_4)(LOAD(m + (odd ? EDGE - 1 : 0) * s->m_point), at, odd, two);
        half[0][j] = two[0];
        half[1][j] = two[1];
    }
#pragma GCC unroll 2
    for (int64_t i = 0; i < 2; i++)
#pragma GCC unroll 2
        for (int64_t other = 0; other < 2; other++) {
            float *y = s->y + (other * SIDE + 2 * i + odd) * s->y_row + c;
            vec two[2];

            NAME(winograd_out_4)(half[i][other * (EDGE - 1)], half[i] + 1, other, two);
            STORE(y, two[0]);
            STORE(y + 2 * SIDE * s->y_row, two[1]);
        }
}

INLINE void NAME(winograd_tile_4)(const struct cpu_winograd_sums *s, int64_t c)
{
    NAME(winograd_tile_pixels)(s, false, c);
    NAME(winograd_tile_pixels)(s, true, c);
}

INLINE void NAME(winograd_out_2)(const vec *m, int64_t step, vec *to)
{
    to[0] = m[0] + m[step] + m[2 * step];
    to[1] = m[step] - m[2 * step] - m[3 * step];
}

INLINE void NAME(winograd_tile_2)(const struct cpu_winograd_sums *s, int64_t c)
{
    enum { EDGE = 4, SIDE = 2 };
    vec half[SIDE * EDGE], whole[SIDE];

#pragma GCC unroll 4
    for (int64_t i = 0; i < EDGE; i++) {
        vec sums[EDGE];

#pragma GCC unroll 4
        for (int64_t j = 0; j < EDGE; j++)
            sums[j] = LOAD(s->m + (i * EDGE + j) * s->m_point + c);
        NAME(winograd_out_2)(sums, 1, half + i * SIDE);
    }
#pragma GCC unroll 2
    for (int64_t j = 0; j < SIDE; j++) {
        NAME(winograd_out_2)(half + j, SIDE, whole);
        STORE(s->y + j * s->y_row + c, whole[0]);
        STORE(s->y + (SIDE + j) * s->y_row + c, whole[1]);
    }
}

TARGET static void NAME(winograd_out)(const struct cpu_winograd_sums *s)
{
    for (int64_t c = 0; c < s->columns; c += LANES)
        if (s->side == 4)
            NAME(winograd_tile_4)(s, c);
        else
            NAME(winograd_tile_2)(s, c);
}

/* ---- the store ------------------------------------------------------------------------------ */

INLINE vec NAME(clamp)(const struct cpu_store *s, vec v, vec slopes)
{
    switch (s->clamp) {
    case CPU_CLAMP_POSITIVE:
        return MOST(v, SPLAT(0.0f));
    case CPU_CLAMP_RELU:
        return SELECT_POSITIVE(v, v * SPLAT(s->slope));
    case CPU_CLAMP_PRELU:
        return SELECT_POSITIVE(v, v * slopes);
    case CPU_CLAMP_CLIP:
        return CLIP(v, SPLAT(s->least), SPLAT(s->most));
    default:
        return v;
    }
}

/* Loads a part of a vector at the end of a row, and a whole vector elsewhere. */
INLINE vec NAME(some)(const float *from, int64_t n)
{
    vec v = { 0 };

    if (n >= LANES)
        return LOAD(from);
    memcpy(&v, from, (size_t)n * sizeof(*from));
    return v;
}

TARGET static void NAME(store)(const struct cpu_store *s, int64_t column, int64_t columns,
                               const float *sums, const float *add, float *y)
{
    for (int64_t j = 0; j < columns; j += LANES) {
        const int64_t n = columns - j;
        vec v = LOAD(sums + j), slopes = { 0 };

        if (s->bias)
            v += NAME(some)(s->bias + column + j, n);
        if (s->adds)
            v += NAME(some)(add + column + j, n);
        if (s->slopes)
            slopes = NAME(some)(s->slopes + column + j, n);
        v = NAME(clamp)(s, v, slopes);
        if (n >= LANES)
            STORE(y + column + j, v);
        else
            memcpy(y + column + j, &v, (size_t)n * sizeof(*y));
    }
}
