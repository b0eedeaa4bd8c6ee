/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NET_DATA_H
#define NET_DATA_H

#include "fixture.h"

#include <ferry/io.h>
#include <ferry/net.h>

/*
 * Compares files of numbers that Caffe computed with the blobs of a net.
 */

/* The entry of that name; NULL if the file lacks it. */
const ferry_io_entry *nd_find(ferry_io *io, const char *name);

/* Gives a blob an entry's shape and values. */
void nd_fill(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b);

/*
 * Whether a blob has an entry's shape and its values, within `tolerance` of the largest one; NaN
 * equals NaN. Otherwise prints a line that begins with `what`.
 */
bool nd_same(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b, double tolerance,
             const char *what);

/*
 * The largest difference that nd_same has found since the last call, relative to the largest value
 * of its blob.
 */
double nd_worst(void);

/*
 * nd_same for the diff. nd_fill_diff sets the diff, whose shape must match, to an entry's values.
 */
bool nd_same_diff(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b, double tolerance,
                  const char *what);
void nd_fill_diff(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b);

/* Whether the index of the largest value in each row of the last axis is the same in both. */
bool nd_same_argmax(ferry_io *io, const ferry_io_entry *entry, const ferry_blob *b,
                    const char *what);

/* The index of the layer of that name; −1 for an unknown name. */
int nd_layer(const ferry_net *net, const char *name);

#endif
