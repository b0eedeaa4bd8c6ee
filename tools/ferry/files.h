/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_FILES_H
#define FERRY_TOOL_FILES_H

#include "progress.h"
#include "target.h"

#include <ferry/io.h>

/*
 * Functions that convert, diff, merge, rename and split share. Arrays are copied from file to file
 * in tiles, so that memory does not grow with their size.
 */

/* The size of a tile that is processed on a device, and of one that is only copied. */
#define FILES_TILE  (64u * 1024 * 1024)
#define FILES_PIECE (1024u * 1024)

/* Opens a file, "-" for standard input; `trust` is --trust. Returns a ferry error. */
int files_open(const char *path, bool trust, ferry_io **out);

/*
 * Finds the array of `io` that corresponds to `name`, an array of `named_in`: the one of that name;
 * or, if each file holds a single array without a name of its own (.npy, .binaryproto), that one.
 * *out is NULL if there is none. Returns 0 or a ferry error.
 */
int files_find(ferry_io *io, ferry_io *named_in, const char *name, const ferry_io_entry **out);

/* An array and its new name. */
struct files_item {
    const ferry_io_entry *entry;
    const char *name;
};

/*
 * Groups the blobs of each layer, as a caffemodel requires: layers in the order of their first
 * blobs, and the blobs of a layer by number. If out of memory, the order is unchanged, and the
 * format reports the error.
 */
void files_group_layers(struct files_item *items, size_t n);

/*
 * Copies the metadata strings of a file, before an array is declared. A string that the new file
 * cannot hold is noted. `whole`: all arrays will follow, layer by layer, so that a net's definition
 * can be copied from caffemodel to caffemodel; otherwise its loss is noted, too.
 */
int files_copy_metadata(ferry_io *from, struct target *to, bool whole);

/* Whether the string of that key describes a link of an HDF5 file that was not followed. */
bool files_is_link(const ferry_io *io, const char *key);

/* ---- tiles ---------------------------------------------------------------------------------- */

/*
 * Copies an array's data, and its diff if `with_diff`, to the writer's current position through
 * `tile`, FILES_PIECE bytes. Returns 0, a ferry error, or FERRY_EBUSY after an interrupt.
 */
int files_copy(ferry_io *from, const ferry_io_entry *entry, bool with_diff, struct target *to,
               void *tile, struct progress *p);

/*
 * Parses a dtype's name in either case into *out; TOOL_USAGE, after reporting it, if it is not
 * valid.
 */
int files_parse_dtype(const struct tool_command *self, const char *text, ferry_dtype *out);

/* Element i as a double. */
double files_value(ferry_dtype dtype, const void *values, int64_t i);

#endif
