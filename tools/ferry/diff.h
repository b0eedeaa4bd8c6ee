/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_DIFF_H
#define FERRY_TOOL_DIFF_H

#include <ferry/io.h>

/* Measures the difference of two arrays of one shape and any dtypes. */

/* Bytes of each file that are compared at once. */
#define DIFF_PIECE (4u * 1024 * 1024)

struct distance {
    double max_abs, max_rel;
    int64_t worst; /* the element with the difference max_abs; −1 if there is none */
    double cosine; /* the cosine of the angle between the arrays; NaN if one is all zeros */
    bool equal;    /* all differences are within the tolerance */
};

/* One side: a file, its array, and whether its data or diff; `tile` has DIFF_PIECE bytes. */
struct diff_side {
    ferry_io *io;
    const ferry_io_entry *entry;
    bool diff;
    void *tile;
};

/* Returns 0, or the error of the file that could not be read. */
int diff_measure(const struct diff_side *a, const struct diff_side *b, double tolerance,
                 struct distance *out);

#endif
