/* SPDX-License-Identifier: BSD-2-Clause */
/* Products of rows with rows (dots.h), for the instruction set of vector.h. No include guard. */

/* The rows of weights, and of x, of a tile; sums of both need registers. */
#define DOT_COLUMNS 4
#if HAVE_AVX512 || HAVE_NEON
#define DOT_ROWS 4
#else
#define DOT_ROWS 2
#endif
/* The depth of a block of k: DOTS_MOST_ROWS rows of x of it stay in the first-level cache. */
#define DOT_DEPTH 256
/*
 * The floats by which rows of weights are prefetched: the processor's own prefetch ends at each
 * page.
 */
#define DOT_AHEAD 512

/* Adds products of `rows` rows of x with DOT_COLUMNS rows of w, over n elements, to the sums. */
INLINE void NAME(dot_tile)(const float *x, int64_t x_row, const float *const *w, int64_t n,
                           int rows, vec (*sums)[DOT_COLUMNS])
{
    vec s[DOT_ROWS][DOT_COLUMNS], wide[DOT_COLUMNS];
    int64_t i = 0;

#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < DOT_COLUMNS; c++)
            s[r][c] = sums[r][c];
    for (; i + LANES <= n; i += LANES) {
#pragma GCC unroll 4
        for (int c = 0; c < DOT_COLUMNS; c++) {
            __builtin_prefetch(w[c] + i + DOT_AHEAD);
            wide[c] = LOAD(w[c] + i);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            vec a = LOAD(x + r * x_row + i);

#pragma GCC unroll 4
            for (int c = 0; c < DOT_COLUMNS; c++)
                s[r][c] = FMA(a, wide[c], s[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < DOT_COLUMNS; c++) {
            if (i < n)
                s[r][c] =
                    FMA(LOAD_SOME(x + r * x_row + i, n - i), LOAD_SOME(w[c] + i, n - i), s[r][c]);
            sums[r][c] = s[r][c];
        }
}

/* Adds the products of all rows with DOT_COLUMNS rows of w, over n elements, to the sums. */
TARGET static void NAME(dot_rows)(const struct cpu_dots *d, const float *x, const float *const *w,
                                  int64_t n, vec (*sums)[DOT_COLUMNS])
{
    int64_t r = 0;

    for (; r + DOT_ROWS <= d->rows; r += DOT_ROWS)
        NAME(dot_tile)(x + r * d->x_row, d->x_row, w, n, DOT_ROWS, sums + r);
    for (; DOT_ROWS > 2 && r + 2 <= d->rows; r += 2)
        NAME(dot_tile)(x + r * d->x_row, d->x_row, w, n, 2, sums + r);
    for (; r < d->rows; r++)
        NAME(dot_tile)(x + r * d->x_row, d->x_row, w, n, 1, sums + r);
}

INLINE float NAME(dot_sum)(vec v)
{
    float lane[LANES];

    STORE(lane, v);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

/* The weights k … k + n − 1 of a column as floats: `wide`, if they have to be converted. */
INLINE const float *NAME(dot_weights)(const struct cpu_dots *d, int64_t column, int64_t k,
                                      int64_t n, float *wide)
{
    int64_t at = column * d->w_row + k;

    if (!d->widen)
        return (const float *)d->w + at;
    d->widen(n, (const uint16_t *)d->w + at, wide);
    return wide;
}

TARGET static void NAME(dots)(const struct cpu_dots *d, int64_t columns)
{
    vec sums[DOTS_MOST_ROWS][DOT_COLUMNS];

    for (int64_t first = 0; first < columns; first += DOT_COLUMNS) {
        int64_t some = columns - first < DOT_COLUMNS ? columns - first : DOT_COLUMNS;

        memset(sums, 0, (size_t)d->rows * sizeof sums[0]);
        for (int64_t k = 0; k < d->k; k += DOT_DEPTH) {
            int64_t n = d->k - k < DOT_DEPTH ? d->k - k : DOT_DEPTH;
            float wide[DOT_COLUMNS][DOT_DEPTH];
            const float *w[DOT_COLUMNS];

            /* A missing column repeats the last one, and its sum is not stored. */
            for (int64_t c = 0; c < DOT_COLUMNS; c++)
                w[c] = NAME(dot_weights)(d, first + (c < some ? c : some - 1), k, n, wide[c]);
            NAME(dot_rows)(d, d->x + k, w, n, sums);
        }
        for (int64_t r = 0; r < d->rows; r++)
            for (int64_t c = 0; c < some; c++)
                d->sums[r * d->sums_row + first + c] = NAME(dot_sum)(sums[r][c]);
    }
}
