/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_INSPECT_H
#define FERRY_TOOL_INSPECT_H

#include "files.h"

/* The measurements of `ferry inspect`, and their output. */

#define INSPECT_BINS 16

/*
 * Statistics of the finite values, except the last two, which count NaNs and infinities. The mean
 * of an array without finite values is NaN.
 */
struct inspect_stats {
    double min, max, mean, std;
    int64_t zeros, nans, infinities;
    int64_t bins[INSPECT_BINS]; /* the number of values in each part of min … max */
};

struct inspect_row {
    const ferry_io_entry *entry;
    const char *unreadable; /* the reason why the array's values cannot be read; or NULL */
    char beyond[80];        /* the same reason, if reading the values has found it */
    double l1, sumsq;
    struct inspect_stats stats; /* set with --stats or --plot */
    char sha256[65];            /* set with --sha256 */
};

struct inspection {
    ferry_device *device;
    ferry_io *io;
    const char *path, *only, *plot;
    bool json, stats, sha256, trust;
    struct inspect_row *rows;
    size_t count;
};

/*
 * Measures an array's values, read in tiles into `tile`, FILES_PIECE bytes. Returns 0 or a ferry
 * error.
 */
int inspect_measure(ferry_io *io, const ferry_io_entry *entry, void *tile,
                    struct inspect_stats *out);

/*
 * Computes L1 and squared L2 norm on the host, for arrays whose transfer to a device would take
 * longer.
 */
int inspect_norms(ferry_io *io, const ferry_io_entry *entry, void *tile, double *out_l1,
                  double *out_sumsq);

/* Computes the SHA-256 of the values as they are read, little-endian. */
int inspect_digest(ferry_io *io, const ferry_io_entry *entry, void *tile, char out[65]);

/* Prints the results as a table or as JSON. */
int inspect_print(const struct inspection *in);

/* Draws the histograms into `path`. */
int inspect_draw(const struct inspection *in, const char *path);

#endif
