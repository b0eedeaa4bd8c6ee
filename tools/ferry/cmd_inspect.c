/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <ferry/io.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry inspect`: every array of a file, with norms that the selected device computed. */

struct inspection {
    ferry_device *device;
    json_t *blobs;            /* with --json, else NULL */
    struct tool_table *table; /* without */
};

/* Integers are storage: their norms are those of the same values as F64, converted on reading. */
static ferry_dtype working_dtype(ferry_dtype dtype)
{
    return dtype == FERRY_F32 || dtype == FERRY_F16 || dtype == FERRY_BF16 ? dtype : FERRY_F64;
}

/* Sends an array to the device and has its norms computed there. */
static int measure(ferry_device *device, ferry_io *io, const ferry_io_entry *entry, double *out_l1,
                   double *out_sumsq)
{
    ferry_blob *b = NULL;
    int err = ferry_blob_create(device, working_dtype(entry->dtype), entry->naxes, entry->dims, &b);

    if (err)
        return err;
    ferry_blob_set_name(b, entry->name);
    err = ferry_io_read(io, entry, b);
    if (!err && !ferry_blob_device_data(b).handle)
        err = ferry_last_error_code();
    if (!err)
        err = ferry_blob_asum_data(b, out_l1);
    if (!err)
        err = ferry_blob_sumsq_data(b, out_sumsq);
    ferry_blob_destroy(b);
    return err;
}

static json_t *json_shape(const ferry_io_entry *entry)
{
    json_t *shape = json_array();

    for (int i = 0; i < entry->naxes; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)entry->dims[i])) != 0) {
            json_decref(shape);
            return NULL; /* which json_pack takes for the failure that it is */
        }
    }
    return shape;
}

static bool add_json(json_t *blobs, const ferry_io_entry *entry, double l1, double sumsq)
{
    const char *why = entry->unreadable;
    json_t *blob =
        json_pack("{s:o, s:o, s:o, s:I, s:o, s:o}", "name", tool_json_string(entry->name), "dtype",
                  tool_json_string(entry->storage), "shape", json_shape(entry), "count",
                  (json_int_t)entry->count, "l1", why ? json_null() : tool_json_real(l1), "sumsq",
                  why ? json_null() : tool_json_real(sumsq));

    if (blob && why && json_object_set_new(blob, "unreadable", tool_json_string(why)) != 0) {
        json_decref(blob);
        return false;
    }
    return blob && json_array_append_new(blobs, blob) == 0;
}

/* "64 3 3 3"; "-" for a scalar. */
static void shape_text(const ferry_io_entry *entry, char *buf, size_t size)
{
    size_t used = 0;

    snprintf(buf, size, "-");
    for (int i = 0; i < entry->naxes && used < size; i++)
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%" PRId64, i ? " " : "", entry->dims[i]);
}

static bool add_row(struct tool_table *table, const ferry_io_entry *entry, double l1, double sumsq)
{
    char shape[FERRY_MAX_AXES * 21 + 1], count[24], l1_text[32], sumsq_text[32];
    const char *why = entry->unreadable;
    const char *cells[] = { entry->name,         entry->storage,         shape,         count,
                            why ? "-" : l1_text, why ? "-" : sumsq_text, why ? why : "" };

    shape_text(entry, shape, sizeof(shape));
    snprintf(count, sizeof(count), "%" PRId64, entry->count);
    snprintf(l1_text, sizeof(l1_text), "%.7g", l1);
    snprintf(sumsq_text, sizeof(sumsq_text), "%.7g", sumsq);
    return tool_table_add(table, cells);
}

static int inspect_entries(struct inspection *in, ferry_io *io)
{
    const ferry_io_entry *entry;

    for (int64_t i = 0; i < ferry_io_count(io); i++) {
        double l1 = 0, sumsq = 0;
        bool added;

        if (ferry_io_entry_at(io, i, &entry) ||
            (!entry->unreadable && measure(in->device, io, entry, &l1, &sumsq)))
            return tool_ferry_error();
        added = in->blobs ? add_json(in->blobs, entry, l1, sumsq)
                          : add_row(in->table, entry, l1, sumsq);
        if (!added)
            return tool_error(TOOL_FAILURE, "out of memory");
    }
    return TOOL_OK;
}

static int print_json(struct inspection *in, const char *path)
{
    json_t *document =
        json_pack("{s:o, s:o, s:o}", "file", tool_json_string(path), "device",
                  tool_json_string(ferry_device_name(in->device)), "blobs", in->blobs);

    in->blobs = NULL;
    return tool_json_print(document);
}

static int print_table(const struct inspection *in, const ferry_io *io, const char *path)
{
    tool_print(path);
    printf(": %s, %" PRId64 " array%s, on %s\n", ferry_io_format_name(ferry_io_get_format(io)),
           ferry_io_count(io), ferry_io_count(io) == 1 ? "" : "s", ferry_device_name(in->device));
    tool_table_print(in->table, 0);
    return TOOL_OK;
}

static int inspect(ferry_runtime *rt, const char *path, bool json)
{
    static const char *const headings[] = {
        "NAME", "DTYPE", "SHAPE", ">COUNT", ">L1", ">SUMSQ", ""
    };
    struct inspection in = { NULL, NULL, NULL };
    ferry_io *io = NULL;
    int status;

    /* The file first: its errors need no device. */
    if (ferry_io_open(path, &io))
        return tool_ferry_error();
    if (ferry_runtime_device(rt, NULL, &in.device)) {
        status = tool_ferry_error();
        goto err_close_file;
    }
    if (json)
        in.blobs = json_array();
    else
        in.table = tool_table_create(headings, 7);
    if (!in.blobs && !in.table) {
        status = tool_error(TOOL_FAILURE, "out of memory");
        goto err_close_file;
    }
    status = inspect_entries(&in, io);
    if (status == TOOL_OK)
        status = json ? print_json(&in, path) : print_table(&in, io, path);
    json_decref(in.blobs);
    tool_table_destroy(in.table);
err_close_file:
    ferry_io_close(io);
    return status;
}

int cmd_inspect(const struct tool_command *self, int argc, char **argv)
{
    bool json = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 1);
    ferry_runtime *rt = NULL;
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n == 0)
        return tool_error(TOOL_USAGE, "inspect: which file? usage: ferry inspect FILE [--json]");
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    status = inspect(rt, argv[0], json);
    ferry_runtime_close(rt);
    return status;
}
