/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_TARGET_H
#define FERRY_TOOL_TARGET_H

#include "shards.h"
#include "tool.h"

#include <ferry/io.h>

/*
 * The output of convert, merge, rename and split: a file, several files with an index (--shard), or
 * standard output ("-"). It appears complete or not at all, and notes are printed only if it
 * appears.
 */
struct target {
    const char *path;
    const char *format_name; /* the value of --format, or NULL */
    const char *shard;       /* the value of --shard, or NULL */
    const char *layout_name; /* the value of --layout; NULL: the input file determines the layout */
    bool quiet;              /* suppresses the notes */
    ferry_io_format format;
    ferry_io_writer *out;  /* NULL if there are shards */
    struct shards *shards; /* NULL if there is a single file */
    char *spool;           /* the path of the temporary file for standard output, or NULL */
    json_t *notes;
    int64_t left; /* the number of attributes that cannot be copied */
};

/*
 * Checks the options: the caller sets path, format_name, shard and quiet; the rest is zero. With
 * "-", from here on standard output is reserved for the file. TOOL_OK or TOOL_USAGE.
 */
int target_check(const struct tool_command *self, struct target *t);

/*
 * Determines the format: that of --format, else that of the path's suffix, else `otherwise`;
 * TOOL_USAGE if it is unknown.
 */
int target_format(const struct tool_command *self, struct target *t, ferry_io_format otherwise);

/*
 * Checks that --layout is valid and the format supports it; called after target_format. TOOL_OK or
 * TOOL_USAGE.
 */
int target_layout(const struct tool_command *self, const struct target *t);

/* Sets the layout of HDF5: that of --layout, else "weights" if `weights`. */
int target_set_layout(struct target *t, bool weights);

/* Opens the output. This and all functions below return a ferry error. */
int target_open(struct target *t);
int target_set_metadata(struct target *t, const char *key, const char *value);
/* Copies a net's definition; only for a caffemodel, and not with shards. */
int target_copy_definition(struct target *t, ferry_io *from);
int target_declare(struct target *t, const ferry_io_entry *entry);
int target_write(struct target *t, const void *values, size_t size);

/*
 * Copies attributes, as ferry_io_writer_copy_attributes; those that cannot be copied are noted.
 * Called after the last declare.
 */
int target_copy_attributes(struct target *t, ferry_io *from);

/* Adds a note, which is printed once the file is complete. */
void target_note(struct target *t, const char *fmt, ...) FERRY_PRINTF(2, 3);

/*
 * With `err` 0, completes the output and prints the notes; otherwise removes it. Frees its
 * resources in any case; returns `err`, or its own error.
 */
int target_finish(struct target *t, int err);

#endif
