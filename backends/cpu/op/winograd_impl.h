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

INLINE void NAME(winograd_out_4)(const vec *m, int64_t step, vec *to)
{
    const vec a = SPLAT(WINOGRAD_A), b = SPLAT(WINOGRAD_B), a2 = a * a, b2 = b * b;
    const vec even_a = m[step] + m[2 * step], odd_a = a * (m[step] - m[2 * step]);
    const vec even_b = m[3 * step] + m[4 * step], odd_b = b * (m[3 * step] - m[4 * step]);

    to[0] = m[0] + even_a + even_b;
    to[1] = odd_a + odd_b;
    to[2] = a2 * even_a + b2 * even_b;
    to[3] = a2 * odd_a + b2 * odd_b + m[5 * step];
}

INLINE void NAME(winograd_out_2)(const vec *m, int64_t step, vec *to)
{
    to[0] = m[0] + m[step] + m[2 * step];
    to[1] = m[step] - m[2 * step] - m[3 * step];
}

INLINE void NAME(winograd_tile)(const struct cpu_winograd_sums *s, int64_t side, int64_t c)
{
    const int64_t edge = side + 2;
    vec sums[6], half[WINOGRAD_MOST_SIDE * 6], whole[WINOGRAD_MOST_SIDE];

    for (int64_t i = 0; i < edge; i++) {
        for (int64_t j = 0; j < edge; j++)
            sums[j] = LOAD(s->m + (i * edge + j) * s->m_point + c);
        if (side == 4)
            NAME(winograd_out_4)(sums, 1, half + i * side);
        else
            NAME(winograd_out_2)(sums, 1, half + i * side);
    }
    for (int64_t j = 0; j < side; j++) {
        if (side == 4)
            NAME(winograd_out_4)(half + j, side, whole);
        else
            NAME(winograd_out_2)(half + j, side, whole);
        for (int64_t i = 0; i < side; i++)
            STORE(s->y + (i * side + j) * s->y_row + c, whole[i]);
    }
}

TARGET static void NAME(winograd_out)(const struct cpu_winograd_sums *s)
{
    for (int64_t c = 0; c < s->columns; c += LANES)
        if (s->side == 4)
            NAME(winograd_tile)(s, 4, c);
        else
            NAME(winograd_tile)(s, 2, c);
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
