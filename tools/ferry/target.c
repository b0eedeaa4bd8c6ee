/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (256u * 1024)

static bool is_output(const struct target *t)
{
    return strcmp(t->path, "-") == 0;
}

int target_check(const struct tool_command *self, struct target *t)
{
    if (t->shard && is_output(t))
        return tool_error(TOOL_USAGE, "%s: --shard writes files, not standard output", self->name);
    if (t->shard && shards_size(t->shard) == 0)
        return tool_error(TOOL_USAGE, "%s: --shard \"%s\": expected bytes, as in 5GB or 500MiB",
                          self->name, t->shard);
    if (!is_output(t))
        return TOOL_OK;
    if (isatty(STDOUT_FILENO) == 1)
        return tool_error(TOOL_USAGE, "%s: standard output is a terminal", self->name);
    tool_output_keep();
    return TOOL_OK;
}

int target_format(const struct tool_command *self, struct target *t, ferry_io_format otherwise)
{
    ferry_io_format format = ferry_io_format_find(t->format_name ? t->format_name : t->path);

    if (format == FERRY_IO_UNKNOWN && t->shard && !t->format_name)
        format = FERRY_IO_SAFETENSORS;
    if (format == FERRY_IO_UNKNOWN && !t->format_name)
        format = otherwise;
    if (format == FERRY_IO_UNKNOWN)
        return tool_error(TOOL_USAGE,
                          "%s: unknown format \"%s\"; --format is one of "
                          TOOL_FORMATS(", "),
                          self->name, t->format_name ? t->format_name : t->path);
    if (t->shard && format != FERRY_IO_SAFETENSORS)
        return tool_error(TOOL_USAGE, "%s: --shard requires safetensors, not %s", self->name,
                          ferry_io_format_name(format));
    t->format = format;
    return TOOL_OK;
}

int target_layout(const struct tool_command *self, const struct target *t)
{
    if (!t->layout_name)
        return TOOL_OK;
    if (strcmp(t->layout_name, "weights") != 0 && strcmp(t->layout_name, "plain") != 0)
        return tool_error(TOOL_USAGE, "%s: --layout \"%s\": expected weights or plain", self->name,
                          t->layout_name);
    if (t->format != FERRY_IO_HDF5)
        return tool_error(TOOL_USAGE, "%s: --layout requires hdf5, not %s", self->name,
                          ferry_io_format_name(t->format));
    return TOOL_OK;
}

int target_set_layout(struct target *t, bool weights)
{
    if (t->format != FERRY_IO_HDF5 || (!t->layout_name && !weights))
        return FERRY_OK;
    if (t->layout_name)
        weights = strcmp(t->layout_name, "weights") == 0;
    return ferry_io_writer_set_layout(t->out, weights ? FERRY_IO_LAYOUT_WEIGHTS
                                                      : FERRY_IO_LAYOUT_PLAIN);
}

/* ---- standard output ------------------------------------------------------------------------ */

static int fail_output(const char *what)
{
    return ferry_error_set(FERRY_EIO, "standard output: %s: %s", what, strerror(errno));
}

/*
 * Makes a temporary folder for files that are written to standard output: they are copied at the
 * end.
 */
static int make_spool(struct target *t)
{
    const char *folder = getenv("TMPDIR");
    size_t size;
    int fd;

    folder = folder && *folder ? folder : "/tmp";
    size = strlen(folder) + 32;
    t->spool = malloc(size);
    if (!t->spool)
        return ferry_error_set(FERRY_ENOMEM, "standard output: out of memory");
    snprintf(t->spool, size, "%s/ferry-XXXXXX", folder);
    fd = mkstemp(t->spool);
    if (fd < 0) {
        free(t->spool);
        t->spool = NULL;
        return fail_output("creating a temporary file for it");
    }
    close(fd);
    return FERRY_OK;
}

static int copy_out(FILE *from, FILE *to)
{
    char *piece = malloc(PIECE);
    int err = FERRY_OK;
    size_t n;

    if (!piece)
        return ferry_error_set(FERRY_ENOMEM, "standard output: out of memory");
    while (!err && (n = fread(piece, 1, PIECE, from)) > 0)
        if (fwrite(piece, 1, n, to) != n)
            err = fail_output("writing");
    if (!err && ferror(from))
        err = fail_output("reading the temporary file");
    if (!err && fflush(to) != 0)
        err = fail_output("writing");
    free(piece);
    return err;
}

static int send_spool(const struct target *t)
{
    FILE *from = fopen(t->spool, "rb");
    int err;

    if (!from)
        return fail_output("reading the temporary file");
    err = copy_out(from, tool_output());
    fclose(from);
    return err;
}

/* ---- writing -------------------------------------------------------------------------------- */

int target_open(struct target *t)
{
    int err = FERRY_OK;

    t->notes = json_array();
    if (!t->notes)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", t->path);
    if (t->shard)
        return shards_create(t->path, shards_size(t->shard), &t->shards);
    if (is_output(t))
        err = make_spool(t);
    return err ? err : ferry_io_writer_create(t->spool ? t->spool : t->path, t->format, &t->out);
}

int target_set_metadata(struct target *t, const char *key, const char *value)
{
    return t->shards ? shards_set_metadata(t->shards, key, value)
                     : ferry_io_writer_set_metadata(t->out, key, value);
}

int target_copy_definition(struct target *t, ferry_io *from)
{
    return ferry_io_writer_copy_definition(t->out, from);
}

int target_declare(struct target *t, const ferry_io_entry *entry)
{
    return t->shards ? shards_declare(t->shards, entry) : ferry_io_writer_declare(t->out, entry);
}

int target_write(struct target *t, const void *values, size_t size)
{
    return t->shards ? shards_write(t->shards, values, size)
                     : ferry_io_writer_write_values(t->out, values, size);
}

/*
 * The part of a library's message after the file's name; NULL if the message does not begin with
 * the name. A user who asked for standard output does not know the temporary file's name.
 */
static const char *after_spool(const struct target *t, const char *message)
{
    size_t n = t->spool ? strlen(t->spool) : 0;

    return n > 0 && strncmp(message, t->spool, n) == 0 ? message + n : NULL;
}

void target_note(struct target *t, const char *fmt, ...)
{
    char line[1200], named[1240];
    const char *rest;
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    rest = after_spool(t, line);
    snprintf(named, sizeof(named), "%s%s", rest ? "standard output" : "", rest ? rest : line);
    json_array_append_new(t->notes, tool_json_string(named));
}

/* The number of attributes that are named; further ones are counted. */
#define NAMED_ATTRIBUTES 3

static void note_left(void *arg, const char *path, const char *name, const char *why)
{
    struct target *t = arg;

    if (t->left++ < NAMED_ATTRIBUTES)
        target_note(t, "attribute %s of /%s is not carried over: %s", name, path, why);
}

int target_copy_attributes(struct target *t, ferry_io *from)
{
    int err = t->shards ? shards_copy_attributes(t->shards, from, note_left, t)
                        : ferry_io_writer_copy_attributes(t->out, from, note_left, t);

    if (t->left > NAMED_ATTRIBUTES)
        target_note(t, "and %" PRId64 " more attributes", t->left - NAMED_ATTRIBUTES);
    return err;
}

/* ---- completion ----------------------------------------------------------------------------- */

static int complete(struct target *t)
{
    int err = t->shards ? shards_commit(t->shards) : ferry_io_writer_commit(t->out);

    t->shards = NULL;
    t->out = NULL;
    return err || !t->spool ? err : send_spool(t);
}

static void name_output(const struct target *t, int err)
{
    const char *rest;
    char message[1024];

    snprintf(message, sizeof(message), "%s", ferry_last_error());
    rest = after_spool(t, message);
    if (rest)
        ferry_error_set(err, "standard output%s", rest);
}

int target_finish(struct target *t, int err)
{
    json_t *note;
    size_t i;

    if (!err)
        err = complete(t);
    shards_abort(t->shards);
    ferry_io_writer_abort(t->out);
    if (t->spool && err)
        name_output(t, err);
    if (t->spool)
        unlink(t->spool);
    json_array_foreach(t->notes, i, note)
    {
        if (!err && !t->quiet)
            (void)tool_error(TOOL_OK, "note: %s", json_string_value(note));
    }
    json_decref(t->notes);
    free(t->spool);
    t->shards = NULL;
    t->out = NULL;
    t->notes = NULL;
    t->spool = NULL;
    return err;
}
