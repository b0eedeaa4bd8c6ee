/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_INSPECT_H
#define FERRY_TOOL_INSPECT_H

#include "files.h"

/* What `ferry inspect` finds out about an array, and how it is shown. */

#define INSPECT_BINS 16

/* Of the finite values, but for the last two. An array without one has NaN for a mean. */
struct inspect_stats {
    double min, max, mean, std;
    int64_t zeros, nans, infinities;
    int64_t bins[INSPECT_BINS]; /* how many lie in each part of min … max */
};

struct inspect_row {
    const ferry_io_entry *entry;
    const char *unreadable; /* why nothing is known of its values; NULL */
    char beyond[80];        /* that reason, where it was found by reading them */
    double l1, sumsq;
    struct inspect_stats stats; /* with --stats or --plot */
    char sha256[65];            /* with --sha256 */
};

struct inspection {
    ferry_device *device;
    ferry_io *io;
    const char *path, *only, *plot;
    bool json, stats, sha256, trust;
    struct inspect_row *rows;
    size_t count;
};

/* Of an array's values, read piece by piece into `tile`, FILES_PIECE bytes. 0 or a ferry error. */
int inspect_measure(ferry_io *io, const ferry_io_entry *entry, void *tile,
                    struct inspect_stats *out);

/* L1 and squared L2 norm on the host, for arrays that a device would take longer to get. */
int inspect_norms(ferry_io *io, const ferry_io_entry *entry, void *tile, double *out_l1,
                  double *out_sumsq);

/* The SHA-256 of the values as they are read, little-endian. */
int inspect_digest(ferry_io *io, const ferry_io_entry *entry, void *tile, char out[65]);

/* Prints what was found, as a table or as JSON. */
int inspect_print(const struct inspection *in);

/* A picture of the histograms into `path`. */
int inspect_draw(const struct inspection *in, const char *path);

#endif
