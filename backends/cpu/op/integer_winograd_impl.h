/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transforms and products of integer_winograd.h, for an instruction set: a part of
 * integer_impl.h. No include guard.
 */

typedef int16_t __attribute__((vector_size(BYTES))) NAME(words);
typedef uint32_t __attribute__((vector_size(BYTES))) NAME(counts);

/* ---- patches -------------------------------------------------------------------------------- */

/*
 * Transforms six vectors, `step` apart, to the points 2·pair + 1 and 2·pair + 2, or, if `pair` is
 * 2, to the first and the last one.
 */
INLINE void NAME(words_in)(const NAME(words) * d, int64_t step, const int pair, NAME(words) * to)
{
    const NAME(words) d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    NAME(words) even, odd;

    if (pair == 2) {
        to[0] = ((d[0] - d2) << 2) + (d4 - d2);
        to[1] = ((d1 - d3) << 2) + (d[5 * step] - d3);
        return;
    }
    even = pair == 0 ? d4 - (d2 << 2) : d4 - d2;
    odd = pair == 0 ? d3 - (d1 << 2) : (d3 - d1) << 1;
    to[0] = even + odd;
    to[1] = even - odd;
}

/* The places of the two points of a pair. */
INLINE int64_t NAME(words_at)(const int pair, int second)
{
    return pair == 2 ? 5 * second : 2 * pair + 1 + second;
}

/* Loads a pixel of a patch, or zeros where it is padding. */
INLINE NAME(words) NAME(words_pixel)(const struct cpu_integer_patch *p, const bool is_signed,
                                     const bool inside, int64_t i, int64_t j, int64_t c)
{
    if (inside || (i >= p->first[0] && i < p->end[0] && j >= p->first[1] && j < p->end[1])) {
        const char *from = p->x + i * p->line + j * p->pixel + c;

        return (NAME(words))(is_signed ? WIDEN_I8(from) : WIDEN_U8(from));
    }
    return (NAME(words)){ 0 };
}

/*
 * Transforms a vector of channels from c on to the points of two lines; `inside`: there is no
 * padding. The vectors of two lines fit in registers.
 */
INLINE void NAME(words_lines)(const struct cpu_integer_patch *p, const bool is_signed,
                              const bool inside, const int pair, int64_t c)
{
    const int edge = INTEGER_WINOGRAD_EDGE, first = pair == 2 ? 0 : 1, end = pair == 2 ? 6 : 5;
    const int64_t point = p->v_point;
    int16_t *const to = p->v + c;
    NAME(words) half[2 * INTEGER_WINOGRAD_EDGE];

#pragma GCC unroll 6
    for (int64_t j = 0; j < edge; j++) {
        NAME(words) seen[INTEGER_WINOGRAD_EDGE], two[2];

#pragma GCC unroll 6
        for (int64_t i = first; i < end; i++)
            seen[i] = NAME(words_pixel)(p, is_signed, inside, i, j, c);
        NAME(words_in)(seen, 1, pair, two);
        half[j] = two[0];
        half[edge + j] = two[1];
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        int16_t *v = to + edge * NAME(words_at)(pair, i) * point;

#pragma GCC unroll 3
        for (int other = 0; other < 3; other++) {
            NAME(words) two[2];

            NAME(words_in)(half + i * edge, 1, other, two);
            PUT_BYTES(v + NAME(words_at)(other, 0) * point, (NAME(bytes))two[0]);
            PUT_BYTES(v + NAME(words_at)(other, 1) * point, (NAME(bytes))two[1]);
        }
    }
}

INLINE void NAME(words_patch)(const struct cpu_integer_patch *p, const bool is_signed,
                              const bool inside, int64_t c)
{
    NAME(words_lines)(p, is_signed, inside, 0, c);
    NAME(words_lines)(p, is_signed, inside, 1, c);
    NAME(words_lines)(p, is_signed, inside, 2, c);
}

/* Loops over the vectors of channels; the last one overlaps the previous one. */
#define EACH_VECTOR(is_signed, inside)                                 \
    for (int64_t c = 0; c < p->channels; c += BYTES / 2) {             \
        c = c + BYTES / 2 > p->channels ? p->channels - BYTES / 2 : c; \
        NAME(words_patch)(p, is_signed, inside, c);                    \
    }

TARGET static void NAME(integer_patch)(const struct cpu_integer_patch *p)
{
    const int edge = INTEGER_WINOGRAD_EDGE;
    bool inside = p->first[0] == 0 && p->first[1] == 0 && p->end[0] == edge && p->end[1] == edge;

    if (p->is_signed && inside)
        EACH_VECTOR(true, true)
    else if (p->is_signed)
        EACH_VECTOR(true, false)
    else if (inside)
        EACH_VECTOR(false, true)
    else
        EACH_VECTOR(false, false)
}

#undef EACH_VECTOR

/* ---- products ------------------------------------------------------------------------------- */

#define TILE(n)                                                               \
    TARGET static void NAME(words_tile_##n)(const struct cpu_integer_tile *t) \
    {                                                                         \
        ivec sum[n][2] = { { { 0 } } };                                       \
                                                                              \
        NAME(integer_sums)(t, n, true, sum);                                  \
        NAME(integer_leave)(t, n, sum);                                       \
    }
EACH_ROWS(TILE)
#undef TILE

/* ---- results -------------------------------------------------------------------------------- */

/*
 * Transforms the six points of an axis. Computes 24 times the first pixel and 6 times the third;
 * if `odd`, 12 times the second and 6 times the fourth. `outer` is the first or the last point.
 */
INLINE void NAME(counts_out)(const NAME(counts) outer, const NAME(counts) * m, const bool odd,
                             NAME(counts) * to)
{
    const NAME(counts) a = odd ? m[0] - m[1] : m[0] + m[1], b = odd ? m[2] - m[3] : m[2] + m[3];

    to[0] = odd ? (a << 1) + b : outer + (a << 2) + b;
    to[1] = odd ? a + (b << 1) + outer : a + b;
}

/*
 * Computes the sums of the pixels of two lines, 0 and 2 or 1 and 3, of a vector of columns; `k` is
 * 0 or 1. The vectors of two lines fit in registers.
 */
INLINE void NAME(counts_lines)(const struct cpu_integer_points *p, const bool odd, const int k,
                               ivec (*sum)[INTEGER_WINOGRAD_SIDE][2])
{
    static const int shift[INTEGER_WINOGRAD_SIDE] = { 3, 2, 1, 1 };
    const int edge = INTEGER_WINOGRAD_EDGE, outer = odd ? edge - 1 : 0;
    NAME(counts) half[2][INTEGER_WINOGRAD_EDGE];

#pragma GCC unroll 6
    for (int j = 0; j < edge; j++) {
        const uint32_t *m = p->m + j * p->m_point + k * LANES;
        NAME(counts) at[4], two[2];

#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            at[i] = (NAME(counts))LOAD_BYTES(m + (i + 1) * edge * p->m_point);
        NAME(counts_out)((NAME(counts))LOAD_BYTES(m + outer * edge * p->m_point), at, odd, two);
        half[0][j] = two[0];
        half[1][j] = two[1];
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
#pragma GCC unroll 2
        for (int other = 0; other < 2; other++) {
            NAME(counts) two[2];

            NAME(counts_out)(half[i][other * (edge - 1)], half[i] + 1, other, two);
#pragma GCC unroll 2
            for (int j = 0; j < 2; j++) /* 9 · 0x38e38e39 = 1 modulo 2^32 */
                sum[i][2 * j + other][k] =
                    (ivec)(two[j] * 0x38e38e39u) >> (shift[2 * i + odd] + shift[2 * j + other]);
        }
}

/* Applies the steps of a store to the pixels of a line of a tile. */
TARGET static __attribute__((noinline)) void NAME(points_line)(const struct cpu_integer_tile *t,
                                                               int pixels, ivec (*sum)[2])
{
    if (t->store->dtype == FERRY_F32)
        NAME(integer_finish_floats)(t, FERRY_F32, pixels, sum);
    else if (t->store->dtype == FERRY_U8)
        NAME(integer_finish)(t, true, pixels, sum);
    else
        NAME(integer_finish)(t, false, pixels, sum);
}

/* Completes the sums of a line of a tile. */
INLINE void NAME(points_put)(const struct cpu_integer_points *p, const int line, ivec (*sum)[2])
{
    const int side = INTEGER_WINOGRAD_SIDE;
    int32_t *sums = p->sums + line * side * INTEGER_MOST_COLUMNS;
    struct cpu_integer_tile tile;

    if (p->adds)
        for (int j = 0; j < side; j++)
            for (int k = 0; k < 2; k++)
                sum[j][k] += *(const ivec *)(sums + j * INTEGER_MOST_COLUMNS + k * LANES);
    if (!p->tile) {
        for (int j = 0; j < side; j++)
            for (int k = 0; k < 2; k++)
                *(ivec *)(sums + j * INTEGER_MOST_COLUMNS + k * LANES) = sum[j][k];
        return;
    }
    if (line >= p->lines)
        return;
    tile.store = p->tile->store;
    tile.column = p->tile->column;
    tile.place = p->tile->place;
    tile.place.y += line * p->y_line;
    if (tile.store->adds)
        tile.place.add += line * p->add_line;
    if (p->pixels == side && tile.store->dtype == FERRY_U8)
        NAME(integer_finish)(&tile, true, side, sum);
    else
        NAME(points_line)(&tile, (int)p->pixels, sum);
}

TARGET static void NAME(integer_points)(const struct cpu_integer_points *p)
{
#pragma GCC unroll 2
    for (int odd = 0; odd < 2; odd++) {
        ivec sum[2][INTEGER_WINOGRAD_SIDE][2];

        NAME(counts_lines)(p, odd, 0, sum);
        NAME(counts_lines)(p, odd, 1, sum);
        NAME(points_put)(p, odd, sum[0]);
        NAME(points_put)(p, 2 + odd, sum[1]);
    }
}

static const struct cpu_integer_winograd_loops NAME(integer_winograd) = {
    .in = NAME(integer_patch),
#define TILE(n) [n] = NAME(words_tile_##n),
    .micro = { EACH_ROWS(TILE) },
#undef TILE
    .out = NAME(integer_points),
};
