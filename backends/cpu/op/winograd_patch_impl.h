/* SPDX-License-Identifier: BSD-2-Clause */
/* Transforms the patches of winograd.h, for an instruction set: see vector.h. No include guard. */

/* Loads a pixel of a patch, or zeros where it is padding. */
INLINE vec NAME(winograd_pixel)(const struct cpu_winograd_patch *p, const bool inside, int64_t i,
                                int64_t j, int64_t c)
{
    if (inside || (i >= p->first[0] && i < p->end[0] && j >= p->first[1] && j < p->end[1]))
        return LOAD_VALUE((const VALUE *)p->x + i * p->line + j * p->pixel + c);
    return SPLAT(0.0f);
}

/* ---- F(4 × 4, 3 × 3) ------------------------------------------------------------------------- */

/* Transforms to points 0, ±a, ±b and infinity, with a² b² and a² + b² of each. */
INLINE void NAME(winograd_in_4)(const vec *d, int64_t step, vec *to)
{
    const vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    const vec d5 = d[5 * step], product = SPLAT(WINOGRAD_A * WINOGRAD_A * WINOGRAD_B * WINOGRAD_B);
    const vec sum = SPLAT(WINOGRAD_A * WINOGRAD_A + WINOGRAD_B * WINOGRAD_B);
    const vec a2 = SPLAT(WINOGRAD_A * WINOGRAD_A), b2 = SPLAT(WINOGRAD_B * WINOGRAD_B);
    const vec even_a = d4 - b2 * d2, odd_a = SPLAT(WINOGRAD_A) * (d3 - b2 * d1);
    const vec even_b = d4 - a2 * d2, odd_b = SPLAT(WINOGRAD_B) * (d3 - a2 * d1);

    to[0] = product * d0 - sum * d2 + d4;
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = product * d1 - sum * d3 + d5;
}

/* Transforms one vector of channels from c on; `inside`: there is no padding. */
INLINE void NAME(winograd_patch_4)(const struct cpu_winograd_patch *p, const bool inside, int64_t c)
{
    enum { EDGE = 6 };
    const int64_t point = p->v_point;
    float *v = p->v + c;
    vec half[EDGE * EDGE];

    for (int64_t j = 0; j < EDGE; j++) {
        vec seen[EDGE];

#pragma GCC unroll 6
        for (int64_t i = 0; i < EDGE; i++)
            seen[i] = NAME(winograd_pixel)(p, inside, i, j, c);
        NAME(winograd_in_4)(seen, 1, half + j * EDGE);
    }
    for (int64_t i = 0; i < EDGE; i++, v += EDGE * point) {
        vec whole[EDGE];

        NAME(winograd_in_4)(half + i, EDGE, whole);
#pragma GCC unroll 6
        for (int64_t j = 0; j < EDGE; j++)
            STORE(v + j * point, whole[j]);
    }
}

/* ---- F(2 × 2, 3 × 3) ------------------------------------------------------------------------- */

/* Transforms to points 0, ±1 and infinity. */
INLINE void NAME(winograd_in_2)(const vec *d, int64_t step, vec *to)
{
    const vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];

    to[0] = d0 - d2;
    to[1] = d1 + d2;
    to[2] = d2 - d1;
    to[3] = d1 - d3;
}

INLINE void NAME(winograd_patch_2)(const struct cpu_winograd_patch *p, const bool inside, int64_t c)
{
    enum { EDGE = 4 };
    const int64_t point = p->v_point;
    float *const v = p->v + c;
    vec half[EDGE * EDGE];

#pragma GCC unroll 4
    for (int64_t j = 0; j < EDGE; j++) {
        vec seen[EDGE];

#pragma GCC unroll 4
        for (int64_t i = 0; i < EDGE; i++)
            seen[i] = NAME(winograd_pixel)(p, inside, i, j, c);
        NAME(winograd_in_2)(seen, 1, half + j * EDGE);
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < EDGE; i++) {
        vec whole[EDGE];

        NAME(winograd_in_2)(half + i, EDGE, whole);
#pragma GCC unroll 4
        for (int64_t j = 0; j < EDGE; j++)
            STORE(v + (i * EDGE + j) * point, whole[j]);
    }
}

/* Loops over the vectors of channels; the last one overlaps the previous one. */
#define EACH_VECTOR(side, inside)                              \
    for (int64_t c = 0; c < p->channels; c += LANES) {         \
        c = c + LANES > p->channels ? p->channels - LANES : c; \
        NAME(winograd_patch_##side)(p, inside, c);             \
    }

TARGET static void NAME(winograd_in)(const struct cpu_winograd_patch *p)
{
    bool inside = p->first[0] == 0 && p->first[1] == 0 && p->end[0] == p->side + 2 &&
                  p->end[1] == p->side + 2;

    if (p->side == 4 && inside)
        EACH_VECTOR(4, true)
    else if (p->side == 4)
        EACH_VECTOR(4, false)
    else if (inside)
        EACH_VECTOR(2, true)
    else
        EACH_VECTOR(2, false)
}

#undef EACH_VECTOR
