/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_DIFF_H
#define FERRY_TOOL_DIFF_H

#include <ferry/io.h>

/* How far two arrays of one shape are apart, whatever their dtypes. */

/* Bytes of each file that are compared at a time. */
#define DIFF_PIECE (4u * 1024 * 1024)

struct distance {
    double max_abs, max_rel;
    int64_t worst; /* the element that is max_abs apart; −1: none is */
    double cosine; /* of the angle between the two; NaN where one is nothing but zeros */
    bool equal;    /* within the tolerance */
};

/* One side: a file, its array, and which half of it; `tile` is of DIFF_PIECE bytes. */
struct diff_side {
    ferry_io *io;
    const ferry_io_entry *entry;
    bool diff;
    void *tile;
};

/* 0, or the error of the file that could not be read. */
int diff_measure(const struct diff_side *a, const struct diff_side *b, double tolerance,
                 struct distance *out);

#endif
