/* SPDX-License-Identifier: BSD-2-Clause */
#include "files.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* `ferry convert`: the arrays of one file into another, whatever their formats. */

struct conversion {
    ferry_io *in;
    ferry_io_writer *out;
    const ferry_io_entry **order;
    bool without_diff, trust;
    bool any_dtype; /* as each is; otherwise: */
    ferry_dtype dtype;
    ferry_device *device; /* that changes dtypes; NULL where none has to be */
    void *tile;
    struct files_progress progress;
};

static bool keeps_diff(const struct conversion *c, const ferry_io_entry *entry)
{
    return entry->has_diff && !c->without_diff;
}

static ferry_dtype out_dtype(const struct conversion *c, const ferry_io_entry *entry)
{
    return c->any_dtype ? entry->dtype : c->dtype;
}

/* Says of every array that is to be written that it is; the bytes that will be read. */
static int declare_all(struct conversion *c, uint64_t *out_total)
{
    uint64_t total = 0;

    for (int64_t i = 0; i < ferry_io_count(c->in); i++) {
        ferry_io_entry entry = *c->order[i];
        uint64_t bytes = (uint64_t)entry.count * ferry_dtype_size(entry.dtype);
        int err;

        if (entry.unreadable) /* said as reading it would say it, before anything is written */
            return ferry_io_read_values(c->in, c->order[i], 0, 0, NULL);
        if (keeps_diff(c, &entry) && entry.diff_dtype != out_dtype(c, &entry) && c->any_dtype)
            return ferry_error_set(FERRY_EUNSUPPORTED,
                                   "%s: its diff is %s and its data are %s; "
                                   "--dtype makes them alike, --no-diff leaves it out",
                                   entry.name, ferry_dtype_name(entry.diff_dtype),
                                   ferry_dtype_name(entry.dtype));
        entry.struct_size = sizeof(entry);
        entry.has_diff = keeps_diff(c, &entry);
        entry.dtype = out_dtype(c, &entry);
        if (entry.dtype != c->order[i]->dtype)
            entry.storage = NULL;
        err = ferry_io_declare(c->out, &entry);
        if (err)
            return err;
        total += entry.has_diff ? 2 * bytes : bytes;
    }
    *out_total = total;
    return FERRY_OK;
}

/* ---- another dtype -------------------------------------------------------------------------- */

static int convert_tile(struct conversion *c, const ferry_io_entry *entry, bool diff, int64_t start,
                        int64_t n, ferry_blob *from, ferry_blob *to)
{
    void *values;
    const void *converted;
    int err = ferry_blob_reshape(from, 1, &n, NULL);

    if (err)
        return err;
    values = ferry_blob_overwrite_host_data(from);
    if (!values)
        return ferry_last_error_code();
    err = diff ? ferry_io_read_diff_values(c->in, entry, start, n, values)
               : ferry_io_read_values(c->in, entry, start, n, values);
    if (!err)
        err = ferry_blob_copy_from(to, from, FERRY_COPY_RESHAPE);
    if (err)
        return err;
    converted = ferry_blob_host_data(to);
    if (!converted)
        return ferry_last_error_code();
    return ferry_io_write_values(c->out, converted, (size_t)n * ferry_dtype_size(c->dtype));
}

static int convert_half(struct conversion *c, const ferry_io_entry *entry, bool diff)
{
    ferry_dtype dtype = diff ? entry->diff_dtype : entry->dtype;
    int64_t most = FILES_TILE / 8;
    ferry_blob *from = NULL, *to = NULL;
    int err = ferry_blob_create(c->device, dtype, 1, &most, &from);

    if (!err)
        err = ferry_blob_create(c->device, c->dtype, 1, &most, &to);
    for (int64_t start = 0; !err && start < entry->count; start += most) {
        int64_t n = entry->count - start < most ? entry->count - start : most;

        err = files_interrupted() ? FERRY_EBUSY : convert_tile(c, entry, diff, start, n, from, to);
        files_progress_step(&c->progress, (uint64_t)n * ferry_dtype_size(dtype));
    }
    ferry_blob_destroy(from);
    ferry_blob_destroy(to);
    return err;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int convert_array(struct conversion *c, const ferry_io_entry *entry)
{
    bool diff = keeps_diff(c, entry);
    int err;

    if (entry->dtype == out_dtype(c, entry) && (!diff || entry->diff_dtype == entry->dtype))
        return files_copy(c->in, entry, diff, c->out, c->tile, &c->progress);
    err = convert_half(c, entry, false);
    return err || !diff ? err : convert_half(c, entry, true);
}

static int convert_all(struct conversion *c)
{
    uint64_t total = 0;
    int err = files_copy_metadata(c->in, c->out);

    if (!err)
        err = declare_all(c, &total);
    if (err)
        return err;
    files_progress_begin(&c->progress, "converting", total);
    for (int64_t i = 0; i < ferry_io_count(c->in) && !err; i++)
        err = convert_array(c, c->order[i]);
    files_progress_end(&c->progress);
    return err;
}

static int convert(struct conversion *c, const char *path, ferry_io_format format)
{
    int status, err;

    status = files_order(c->in, format, &c->order);
    if (status != TOOL_OK)
        return status;
    c->tile = malloc(FILES_PIECE);
    if (!c->tile) {
        free(c->order);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    files_catch_interrupts();
    err = ferry_io_create(path, format, &c->out);
    if (!err) {
        err = convert_all(c);
        if (err)
            ferry_io_abort(c->out);
        else
            err = ferry_io_commit(c->out);
    }
    free(c->tile);
    free(c->order);
    files_die_if_interrupted();
    return err ? tool_ferry_error() : TOOL_OK;
}

static int parse_dtype(const struct tool_command *self, const char *text, struct conversion *c)
{
    c->any_dtype = text == NULL;
    for (int i = 0; text && i < FERRY_DTYPE_COUNT; i++)
        if (strcasecmp(text, ferry_dtype_name((ferry_dtype)i)) == 0) {
            c->dtype = (ferry_dtype)i;
            return TOOL_OK;
        }
    if (!text)
        return TOOL_OK;
    return tool_error(TOOL_USAGE, "%s: unknown dtype \"%s\": F32 F64 F16 BF16 I8 U8 I32 I64 U32",
                      self->name, text);
}

int cmd_convert(const struct tool_command *self, int argc, char **argv)
{
    struct conversion c = { .in = NULL };
    const char *format_name = NULL, *dtype_name = NULL;
    const struct tool_option options[] = { { "--format", "-f", NULL, &format_name },
                                           { "--dtype", NULL, NULL, &dtype_name },
                                           { "--no-diff", NULL, &c.without_diff, NULL },
                                           { "--trust", NULL, &c.trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 2);
    ferry_runtime *rt = NULL;
    ferry_io_format format;
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(TOOL_USAGE, "convert: which files? usage: ferry %s %s", self->name,
                          self->arguments);
    status = files_format(self, argv[1], format_name, FERRY_IO_UNKNOWN, &format);
    if (status == TOOL_OK)
        status = parse_dtype(self, dtype_name, &c);
    if (status != TOOL_OK)
        return status;
    if (files_open(argv[0], c.trust, &c.in))
        return tool_ferry_error();
    if (!c.any_dtype &&
        (ferry_runtime_open(NULL, &rt) || ferry_runtime_device(rt, NULL, &c.device)))
        status = tool_ferry_error();
    else
        status = convert(&c, argv[1], format);
    ferry_io_close(c.in);
    ferry_runtime_close(rt);
    return status;
}
