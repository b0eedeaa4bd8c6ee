/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transforms the patches and tiles of winograd.h, for an instruction set: see vector.h. No include
 * guard.
 */

/* ---- along one axis ------------------------------------------------------------------------- */

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

/* Transforms to points 0, ±1 and infinity. */
INLINE void NAME(winograd_in_2)(const vec *d, int64_t step, vec *to)
{
    const vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];

    to[0] = d0 - d2;
    to[1] = d1 + d2;
    to[2] = d2 - d1;
    to[3] = d1 - d3;
}

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

/* ---- along both axes ------------------------------------------------------------------------ */

/* Transforms one vector of channels from c on; `inside`: there is no padding. */
INLINE void NAME(winograd_patch)(const struct cpu_winograd_patch *p, int64_t side, bool inside,
                                 int64_t c)
{
    const int64_t edge = side + 2;
    vec seen[WINOGRAD_MOST_POINTS], half[WINOGRAD_MOST_POINTS], whole[6];

    for (int64_t i = 0; i < edge; i++)
        for (int64_t j = 0; j < edge; j++)
            if (inside || (i >= p->first[0] && i < p->end[0] && j >= p->first[1] && j < p->end[1]))
                seen[i * edge + j] = LOAD(p->x + i * p->line + j * p->pixel + c);
            else
                seen[i * edge + j] = SPLAT(0.0f);
    for (int64_t j = 0; j < edge; j++)
        if (side == 4)
            NAME(winograd_in_4)(seen + j, edge, half + j * edge);
        else
            NAME(winograd_in_2)(seen + j, edge, half + j * edge);
    for (int64_t i = 0; i < edge; i++) {
        if (side == 4)
            NAME(winograd_in_4)(half + i, edge, whole);
        else
            NAME(winograd_in_2)(half + i, edge, whole);
        for (int64_t j = 0; j < edge; j++)
            STORE(p->v + (i * edge + j) * p->v_point + c, whole[j]);
    }
}

/* Loops over the vectors of channels; the last one overlaps the previous one. */
#define EACH_VECTOR(side, inside)                              \
    for (int64_t c = 0; c < p->channels; c += LANES) {         \
        c = c + LANES > p->channels ? p->channels - LANES : c; \
        NAME(winograd_patch)(p, side, inside, c);              \
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
