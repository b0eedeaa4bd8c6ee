/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills a blob's data or diff from any source of values. */
#ifndef FERRY_IO_READ_H
#define FERRY_IO_READ_H

#include <ferry/blob.h>

/* Writes all values, in the source's dtype, to `out`. */
typedef int (*ferry__io_fill_fn)(const void *arg, bool diff, void *out);

/* Fills the blob's host copy directly: the blob has the source's dtype, and its shape is set. */
int ferry__io_fill(ferry_blob *b, bool diff, ferry__io_fill_fn read, const void *arg);

/* Fills a temporary blob of the source's dtype, and converts its values into the blob. */
int ferry__io_fill_converted(ferry_blob *b, bool diff, ferry_dtype dtype, ferry__io_fill_fn read,
                             const void *arg);

#endif
