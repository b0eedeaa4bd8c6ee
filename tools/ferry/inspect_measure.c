/* SPDX-License-Identifier: BSD-2-Clause */
#include "inspect.h"
#include "sha256.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of values that are converted at once. */
#define GROUP 1024

struct pass {
    /* Receives all values in order, as doubles. */
    void (*see)(void *arg, const double *values, int n);
    void *arg;
};

/* Reads all values tile by tile; `see` gets each tile and the number of its values. */
static int each_tile(ferry_io *io, const ferry_io_entry *entry, void *tile,
                     void (*see)(void *arg, ferry_dtype dtype, void *tile, int64_t n), void *arg)
{
    int64_t most = (int64_t)(FILES_PIECE / ferry_dtype_size(entry->dtype)), n;

    for (int64_t start = 0; start < entry->count; start += n) {
        int err;

        n = entry->count - start < most ? entry->count - start : most;
        err = ferry_io_read_values(io, entry, start, n, tile);
        if (err)
            return err;
        see(arg, entry->dtype, tile, n);
    }
    return FERRY_OK;
}

static void see_tile(void *arg, ferry_dtype dtype, void *tile, int64_t n)
{
    const struct pass *pass = arg;
    double values[GROUP];

    for (int64_t i = 0; i < n; i += GROUP) {
        int k = n - i < GROUP ? (int)(n - i) : GROUP;

        for (int j = 0; j < k; j++)
            values[j] = dtype == FERRY_F32 ? (double)((const float *)tile)[i + j]
                                           : files_value(dtype, tile, i + j);
        pass->see(pass->arg, values, k);
    }
}

static int walk(ferry_io *io, const ferry_io_entry *entry, void *tile, struct pass *pass)
{
    return each_tile(io, entry, tile, see_tile, pass);
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* A factor with which the sum of a file's numbers cannot overflow a double. */
#define SMALL 0x1p-100

struct extent {
    struct inspect_stats *stats;
    double sum, part; /* the sum, and the sum multiplied by SMALL */
    double scale;     /* a power of two that keeps the squares within a double's range */
    int64_t finite;
};

static void see_extent(void *arg, const double *values, int n)
{
    struct extent *e = arg;
    struct inspect_stats *s = e->stats;

    for (int i = 0; i < n; i++) {
        double x = values[i];

        if (!isfinite(x)) {
            s->nans += isnan(x) != 0;
            s->infinities += isinf(x) != 0;
            continue;
        }
        s->zeros += x == 0;
        s->min = e->finite == 0 || x < s->min ? x : s->min;
        s->max = e->finite == 0 || x > s->max ? x : s->max;
        e->sum += x;
        e->part += x * SMALL;
        e->finite++;
    }
}

/*
 * The second pass, when minimum and maximum are known: computes deviations from the mean, and the
 * histogram.
 */
static void see_spread(void *arg, const double *values, int n)
{
    struct extent *e = arg;
    struct inspect_stats *s = e->stats;
    double scale = e->scale, width = s->max * scale - s->min * scale;

    for (int i = 0; i < n; i++) {
        double x = values[i] * scale, part;

        if (!isfinite(values[i]))
            continue;
        part = width > 0 ? (x - s->min * scale) / width * INSPECT_BINS : 0;
        s->bins[part < INSPECT_BINS ? (int)part : INSPECT_BINS - 1]++;
        e->sum += (x - s->mean * scale) * (x - s->mean * scale);
    }
}

static double scale_of(const struct inspect_stats *s)
{
    double largest = fmax(fabs(s->min), fabs(s->max));

    return largest > 1e150 ? 0x1p-600 : largest > 0 && largest < 1e-100 ? 0x1p600 : 1;
}

int inspect_measure(ferry_io *io, const ferry_io_entry *entry, void *tile,
                    struct inspect_stats *out)
{
    struct extent e = { .stats = out };
    struct pass first = { see_extent, &e }, second = { see_spread, &e };
    int err;

    memset(out, 0, sizeof(*out));
    err = walk(io, entry, tile, &first);
    if (err)
        return err;
    if (e.finite == 0) {
        out->min = out->max = out->mean = out->std = (double)NAN;
        return FERRY_OK;
    }
    out->mean = isfinite(e.sum) ? e.sum / (double)e.finite : e.part / (double)e.finite / SMALL;
    e.scale = scale_of(out);
    e.sum = 0;
    err = walk(io, entry, tile, &second);
    out->std = sqrt(e.sum / (double)e.finite) / e.scale;
    return err;
}

/* ---- norms ---------------------------------------------------------------------------------- */

struct norms {
    double l1, sumsq;
};

static void see_norms(void *arg, const double *values, int n)
{
    struct norms *norms = arg;

    for (int i = 0; i < n; i++) {
        norms->l1 += fabs(values[i]);
        norms->sumsq += values[i] * values[i];
    }
}

int inspect_norms(ferry_io *io, const ferry_io_entry *entry, void *tile, double *out_l1,
                  double *out_sumsq)
{
    struct norms norms = { 0, 0 };
    struct pass pass = { see_norms, &norms };
    int err = walk(io, entry, tile, &pass);

    *out_l1 = norms.l1;
    *out_sumsq = norms.sumsq;
    return err;
}

/* ---- digests -------------------------------------------------------------------------------- */

static void make_little(void *values, int64_t n, size_t size)
{
    const uint16_t one = 1;
    unsigned char *at = values;

    if (*(const unsigned char *)&one == 1)
        return;
    for (int64_t i = 0; i < n; i++, at += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char byte = at[k];

            at[k] = at[size - 1 - k];
            at[size - 1 - k] = byte;
        }
}

static void see_bytes(void *arg, ferry_dtype dtype, void *tile, int64_t n)
{
    size_t size = ferry_dtype_size(dtype);

    make_little(tile, n, size);
    sha256_add(arg, tile, (size_t)n * size);
}

int inspect_digest(ferry_io *io, const ferry_io_entry *entry, void *tile, char out[65])
{
    struct sha256 sha;
    int err;

    sha256_begin(&sha);
    err = each_tile(io, entry, tile, see_bytes, &sha);
    if (!err)
        sha256_end(&sha, out);
    return err;
}
