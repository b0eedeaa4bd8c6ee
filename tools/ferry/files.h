/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_FILES_H
#define FERRY_TOOL_FILES_H

#include "tool.h"

#include <ferry/io.h>

/*
 * What `convert`, `diff` and `merge` share: arrays go from file to file in tiles, so that memory
 * stays the same however large they are.
 */

/* Bytes of a tile that goes through a device, and of one that is only copied. */
#define FILES_TILE  (64u * 1024 * 1024)
#define FILES_PIECE (1024u * 1024)

/* The format of `name`, or else of the path's suffix, or else `otherwise`; TOOL_USAGE if unknown. */
int files_format(const struct tool_command *self, const char *path, const char *name,
                 ferry_io_format otherwise, ferry_io_format *out);

/* Opens a file; `trust`: --trust was given. A ferry error. */
int files_open(const char *path, bool trust, ferry_io **out);

/*
 * The array of `io` that `name`, an array of `named_in`, is compared or merged with: that of the same
 * name; and where both files hold one array and no name (.npy, .binaryproto), that one, for what they
 * are called after is each its file. NULL if there is none; 0 or a ferry error.
 */
int files_find(ferry_io *io, ferry_io *named_in, const char *name, const ferry_io_entry **out);

/*
 * The entries of a file in an order in which `format` can hold them: a layer's blobs stand together
 * in Caffe's. The caller frees *out, which has ferry_io_count entries.
 */
int files_order(ferry_io *io, ferry_io_format format, const ferry_io_entry ***out);

/*
 * Takes the strings about a file over. One that has no place in the new file is noted, and so is the
 * definition of a net, which no file of arrays has a place for.
 */
int files_copy_metadata(ferry_io *from, ferry_io_writer *to);

/* ---- while it runs -------------------------------------------------------------------------- */

/* A bar on standard error where that is a terminal and it takes more than a second, otherwise nothing. */
struct files_progress {
    bool shown;
    const char *what;
    uint64_t total, done;
    int percent;  /* that is shown; −1: nothing is */
    double begin; /* seconds */
};

void files_progress_begin(struct files_progress *p, const char *what, uint64_t total);
void files_progress_step(struct files_progress *p, uint64_t bytes);
void files_progress_end(struct files_progress *p);

/* From here on an interrupt is a request, which the loops ask about. */
void files_catch_interrupts(void);
bool files_interrupted(void);

/* Where one was asked for: dies of it, as a shell expects. */
void files_die_if_interrupted(void);

/* ---- tiles ---------------------------------------------------------------------------------- */

/*
 * Copies an array's data, and its diff if `with_diff`, to where the writer stands, by way of
 * `tile`, FILES_PIECE bytes. 0, a ferry error, or FERRY_EBUSY after an interrupt.
 */
int files_copy(ferry_io *from, const ferry_io_entry *entry, bool with_diff, ferry_io_writer *to,
               void *tile, struct files_progress *p);

/* Element i as a double. */
double files_value(ferry_dtype dtype, const void *values, int64_t i);

#endif
