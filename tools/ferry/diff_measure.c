/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff.h"
#include "files.h"

#include <math.h>
#include <string.h>

#define TWO_TO_63 9223372036854775808.0

struct sums {
    double ab, aa, bb; /* sums for the cosine */
};

static ferry_dtype dtype_of(const struct diff_side *side)
{
    return side->diff ? side->entry->diff_dtype : side->entry->dtype;
}

static int read_tile(const struct diff_side *side, int64_t start, int64_t n)
{
    return side->diff ? ferry_io_read_diff_values(side->io, side->entry, start, n, side->tile)
                      : ferry_io_read_values(side->io, side->entry, start, n, side->tile);
}

/* ---- one element ---------------------------------------------------------------------------- */

static double apart_int64(int64_t a, int64_t b)
{
    return a < b ? (double)((uint64_t)b - (uint64_t)a) : (double)((uint64_t)a - (uint64_t)b);
}

/* The difference between a 64-bit integer and the double that it was rounded to. */
static double rounded_off(int64_t i, double d)
{
    return d >= TWO_TO_63 ? (double)(((uint64_t)1 << 63) - (uint64_t)i)
                          : apart_int64(i, (int64_t)d);
}

/* The distance of two elements. 64-bit integers may differ although their doubles are equal. */
static double apart(const struct diff_side *a, const struct diff_side *b, int64_t i, double x,
                    double y)
{
    bool a_long = dtype_of(a) == FERRY_I64, b_long = dtype_of(b) == FERRY_I64;

    if (a_long && b_long)
        return apart_int64(((const int64_t *)a->tile)[i], ((const int64_t *)b->tile)[i]);
    if (a_long && x == y)
        return rounded_off(((const int64_t *)a->tile)[i], y);
    if (b_long && x == y)
        return rounded_off(((const int64_t *)b->tile)[i], x);
    return x == y ? 0 : fabs(x - y);
}

/* Compares two elements. NaN equals NaN, and its distance from any other value is infinite. */
static void compare(double x, double y, double distance, int64_t at, double tolerance,
                    struct distance *d)
{
    double relative;

    if (distance == 0 || (isnan(x) && isnan(y)))
        return;
    if (isnan(distance))
        distance = (double)INFINITY;
    relative = isfinite(distance) ? distance / fmax(fabs(x), fabs(y)) : (double)INFINITY;
    if (distance > d->max_abs) {
        d->max_abs = distance;
        d->worst = at;
    }
    d->max_rel = fmax(d->max_rel, relative);
    if (!(distance <= tolerance || relative <= tolerance))
        d->equal = false;
}

/* ---- all elements --------------------------------------------------------------------------- */

static void compare_tiles(const struct diff_side *a, const struct diff_side *b, int64_t start,
                          int64_t n, double tolerance, struct sums *sums, struct distance *d)
{
    ferry_dtype a_dtype = dtype_of(a), b_dtype = dtype_of(b);

    for (int64_t i = 0; i < n; i++) {
        double x = files_value(a_dtype, a->tile, i), y = files_value(b_dtype, b->tile, i);

        sums->ab += x * y;
        sums->aa += x * x;
        sums->bb += y * y;
        compare(x, y, apart(a, b, i, x, y), start + i, tolerance, d);
    }
}

/* The number of elements that fit into both tiles. */
static int64_t tile_of(const struct diff_side *a, const struct diff_side *b)
{
    size_t x = ferry_dtype_size(dtype_of(a)), y = ferry_dtype_size(dtype_of(b));

    return (int64_t)(DIFF_PIECE / (x > y ? x : y));
}

/* Whether both arrays have the same bytes. */
static int compare_bytes(const struct diff_side *a, const struct diff_side *b, bool *out)
{
    int64_t count = a->entry->count, most = tile_of(a, b), n;
    bool same = dtype_of(a) == dtype_of(b);

    for (int64_t start = 0; start < count && same; start += n) {
        int err;

        n = count - start < most ? count - start : most;
        err = read_tile(a, start, n);
        if (!err)
            err = read_tile(b, start, n);
        if (err)
            return err;
        same = memcmp(a->tile, b->tile, (size_t)n * ferry_dtype_size(dtype_of(a))) == 0;
    }
    *out = same;
    return FERRY_OK;
}

/*
 * The cosine. Rounding of the three sums can make the quotient slightly exceed 1, so it is limited.
 * NaN stays NaN.
 */
static double cosine_of(const struct sums *sums)
{
    double cosine = sums->ab / sqrt(sums->aa) / sqrt(sums->bb);

    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

int diff_measure(const struct diff_side *a, const struct diff_side *b, double tolerance,
                 struct distance *out)
{
    int64_t count = a->entry->count, most = tile_of(a, b), n;
    struct sums sums = { 0, 0, 0 };
    bool same = false;
    int err = compare_bytes(a, b, &same);

    *out = (struct distance){ .worst = -1, .cosine = 1, .equal = true };
    for (int64_t start = 0; start < count && !same && !err; start += n) {
        n = count - start < most ? count - start : most;
        err = read_tile(a, start, n);
        if (!err)
            err = read_tile(b, start, n);
        if (!err)
            compare_tiles(a, b, start, n, tolerance, &sums, out);
    }
    if (!same && count > 0)
        out->cosine = cosine_of(&sums);
    return err;
}
