/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_FILES_H
#define FERRY_TOOL_FILES_H

#include "progress.h"
#include "target.h"

#include <ferry/io.h>

/*
 * What convert, diff, merge, rename and split share: arrays go from file to file in tiles, so that memory
 * stays the same however large they are.
 */

/* Bytes of a tile that goes through a device, and of one that is only copied. */
#define FILES_TILE  (64u * 1024 * 1024)
#define FILES_PIECE (1024u * 1024)

/* Opens a file, "-" being standard input; `trust`: --trust was given. A ferry error. */
int files_open(const char *path, bool trust, ferry_io **out);

/*
 * The array of `io` that `name`, an array of `named_in`, is compared or merged with: that of the same
 * name; and where both files hold one array and no name (.npy, .binaryproto), that one, for what they
 * are called after is each its file. NULL if there is none; 0 or a ferry error.
 */
int files_find(ferry_io *io, ferry_io *named_in, const char *name, const ferry_io_entry **out);

/* An array, and what it is to be called. */
struct files_item {
    const ferry_io_entry *entry;
    const char *name;
};

/*
 * Puts a layer's blobs together, as a caffemodel can hold them: layers in the order of their first blobs,
 * and inside a layer by number. Without memory for it the order stays, and the format says what is wrong.
 */
void files_group_layers(struct files_item *items, size_t n);

/*
 * Takes the strings about a file over, before an array is declared; one that has no place in the new file is
 * noted. `whole`: all of its arrays will come, layer by layer, so that the definition of a net goes
 * along from caffemodel to caffemodel. Otherwise it is noted, too.
 */
int files_copy_metadata(ferry_io *from, struct target *to, bool whole);

/* Whether the string of that key is about a link of an HDF5 file that was not followed. */
bool files_is_link(const ferry_io *io, const char *key);

/* ---- tiles ---------------------------------------------------------------------------------- */

/*
 * Copies an array's data, and its diff if `with_diff`, to where the writer stands, by way of
 * `tile`, FILES_PIECE bytes. 0, a ferry error, or FERRY_EBUSY after an interrupt.
 */
int files_copy(ferry_io *from, const ferry_io_entry *entry, bool with_diff, struct target *to,
               void *tile, struct progress *p);

/* A dtype's name in either case into *out; TOOL_USAGE where it is none, which has been said. */
int files_parse_dtype(const struct tool_command *self, const char *text, ferry_dtype *out);

/* Element i as a double. */
double files_value(ferry_dtype dtype, const void *values, int64_t i);

#endif
