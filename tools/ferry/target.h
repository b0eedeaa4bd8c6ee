/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_TARGET_H
#define FERRY_TOOL_TARGET_H

#include "shards.h"
#include "tool.h"

#include <ferry/io.h>

/*
 * Where convert, merge, rename and split put their arrays: a file, several with an index (--shard), or
 * standard output ("-"). It appears whole or not at all, and notes are said only where it did.
 */
struct target {
    const char *path;
    const char *format_name; /* of --format; NULL */
    const char *shard;       /* of --shard; NULL */
    const char *layout_name; /* of --layout; NULL: as the file that is read suggests */
    bool quiet;              /* notes are not said */
    ferry_io_format format;
    ferry_io_writer *out;  /* NULL where it is in shards */
    struct shards *shards; /* NULL where it is in one file */
    char *spool;           /* the file that is to be standard output; NULL */
    json_t *notes;
    int64_t left; /* attributes that stay behind */
};

/*
 * Looks at what was asked for: path, format_name, shard and quiet are the caller's, all else is zero.
 * With "-" standard output is the file's from here on. TOOL_OK or TOOL_USAGE.
 */
int target_check(const struct tool_command *self, struct target *t);

/* The format of --format, else of the path's suffix, else `otherwise`; TOOL_USAGE where that is unknown. */
int target_format(const struct tool_command *self, struct target *t, ferry_io_format otherwise);

/* Whether --layout names a layout, and the format has one; after target_format. TOOL_OK or TOOL_USAGE. */
int target_layout(const struct tool_command *self, const struct target *t);

/* Has HDF5 be laid out as --layout says, else as weights where `weights`. */
int target_set_layout(struct target *t, bool weights);

/* Begins it. A ferry error, as from all that follow. */
int target_open(struct target *t);
int target_set_metadata(struct target *t, const char *key, const char *value);
int target_copy_definition(struct target *t, ferry_io *from); /* of a caffemodel; never in shards */
int target_declare(struct target *t, const ferry_io_entry *entry);
int target_write(struct target *t, const void *values, size_t size);

/* Attributes, as ferry_io_writer_copy_attributes; those that stay behind are noted. Behind the last declare. */
int target_copy_attributes(struct target *t, ferry_io *from);

/* A line that is said once the file is there. */
void target_note(struct target *t, const char *fmt, ...) FERRY_PRINTF(2, 3);

/*
 * With `err` 0 completes it and says the notes; otherwise gives it up. Frees what it holds, whatever the
 * result; returns `err`, or its own.
 */
int target_finish(struct target *t, int err);

#endif
