/* SPDX-License-Identifier: BSD-2-Clause */
#include "transfer.h"

#include <stdlib.h>

static bool keeps_diff(const struct transfer *t, const ferry_io_entry *entry)
{
    return entry->has_diff && !t->without_diff;
}

static ferry_dtype out_dtype(const struct transfer *t, const ferry_io_entry *entry)
{
    return t->any_dtype ? entry->dtype : t->dtype;
}

static int check_item(const struct transfer *t, const ferry_io_entry *entry)
{
    if (entry->unreadable) /* reports before anything is written the error that reading the array
                            * would report */
        return ferry_io_read_values(t->in, entry, 0, 0, NULL);
    if (keeps_diff(t, entry) && entry->diff_dtype != out_dtype(t, entry) && t->any_dtype)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: its diff is %s and its data are %s; --dtype converts both, "
                               "--no-diff leaves the diff out",
                               entry->name, ferry_dtype_name(entry->diff_dtype),
                               ferry_dtype_name(entry->dtype));
    return FERRY_OK;
}

/* Declares every array to write; *out_total is the number of bytes to read. */
static int declare_all(struct transfer *t, uint64_t *out_total)
{
    uint64_t total = 0;
    int err = FERRY_OK;

    for (size_t i = 0; i < t->count && !err; i++) {
        const ferry_io_entry *from = t->items[i].entry;
        ferry_io_entry entry = *from;

        err = check_item(t, from);
        entry.struct_size = sizeof(entry);
        entry.name = t->items[i].name;
        entry.has_diff = keeps_diff(t, from);
        entry.dtype = out_dtype(t, from);
        if (!t->any_dtype)
            entry.storage = NULL;
        if (!err)
            err = target_declare(&t->target, &entry);
        total += (uint64_t)entry.count * ferry_dtype_size(from->dtype) * (entry.has_diff ? 2 : 1);
    }
    *out_total = total;
    return err;
}

/* ---- conversion of dtypes ------------------------------------------------------------------- */

static int convert_tile(struct transfer *t, const ferry_io_entry *entry, bool diff, int64_t start,
                        int64_t n, ferry_blob *from, ferry_blob *to)
{
    void *values;
    const void *converted;
    int err = ferry_blob_reshape(from, &n, 1, NULL);

    if (err)
        return err;
    values = ferry_blob_overwrite_host_data(from);
    if (!values)
        return ferry_last_error_code();
    err = diff ? ferry_io_read_diff_values(t->in, entry, start, n, values)
               : ferry_io_read_values(t->in, entry, start, n, values);
    if (!err)
        err = ferry_blob_copy_from(to, from, FERRY_COPY_RESHAPE);
    if (err)
        return err;
    converted = ferry_blob_host_data(to);
    if (!converted)
        return ferry_last_error_code();
    return target_write(&t->target, converted, (size_t)n * ferry_dtype_size(t->dtype));
}

static int convert_half(struct transfer *t, const ferry_io_entry *entry, bool diff)
{
    ferry_dtype dtype = diff ? entry->diff_dtype : entry->dtype;
    int64_t most = FILES_TILE / 8;
    ferry_blob *from = NULL, *to = NULL;
    int err = ferry_blob_create(t->device, dtype, &most, 1, &from);

    if (!err)
        err = ferry_blob_create(t->device, t->dtype, &most, 1, &to);
    for (int64_t start = 0; !err && start < entry->count; start += most) {
        int64_t n = entry->count - start < most ? entry->count - start : most;

        err = is_interrupted() ? FERRY_EBUSY : convert_tile(t, entry, diff, start, n, from, to);
        progress_step(&t->progress, (uint64_t)n * ferry_dtype_size(dtype));
    }
    ferry_blob_destroy(from);
    ferry_blob_destroy(to);
    return err;
}

/* ---- all arrays ----------------------------------------------------------------------------- */

static int write_item(struct transfer *t, const ferry_io_entry *entry)
{
    bool diff = keeps_diff(t, entry);
    int err;

    if (entry->dtype == out_dtype(t, entry) && (!diff || entry->diff_dtype == entry->dtype))
        return files_copy(t->in, entry, diff, &t->target, t->tile, &t->progress);
    err = convert_half(t, entry, false);
    return err || !diff ? err : convert_half(t, entry, true);
}

static int write_all(struct transfer *t)
{
    uint64_t total = 0;
    int err = files_copy_metadata(t->in, &t->target, t->whole);

    if (!err)
        err = target_set_layout(&t->target, ferry_io_get_format(t->in) == FERRY_IO_CAFFEMODEL);
    if (!err)
        err = declare_all(t, &total);
    if (!err)
        err = target_copy_attributes(&t->target, t->in);
    if (err)
        return err;
    progress_begin(&t->progress, "writing", NULL, total);
    for (size_t i = 0; i < t->count && !err; i++)
        err = write_item(t, t->items[i].entry);
    progress_end(&t->progress);
    return err;
}

int transfer_run(struct transfer *t)
{
    int err;

    t->tile = malloc(FILES_PIECE);
    if (!t->tile)
        return tool_error(TOOL_FAILURE, "out of memory");
    if (t->target.format == FERRY_IO_CAFFEMODEL &&
        (t->renamed || ferry_io_get_format(t->in) != FERRY_IO_CAFFEMODEL))
        files_group_layers(t->items, t->count);
    t->progress.quiet = t->target.quiet;
    catch_interrupts();
    err = target_open(&t->target);
    if (!err)
        err = write_all(t);
    err = target_finish(&t->target, err);
    free(t->tile);
    die_if_interrupted();
    return err ? tool_ferry_error() : TOOL_OK;
}

int transfer_take_all(struct transfer *t)
{
    size_t n = (size_t)ferry_io_entry_count(t->in);

    t->items = calloc(n + 1, sizeof(*t->items));
    if (!t->items)
        return ferry_error_set(FERRY_ENOMEM, "out of memory");
    for (t->count = 0; t->count < n; t->count++) {
        struct files_item *item = &t->items[t->count];
        int err = ferry_io_entry_at(t->in, (int64_t)t->count, &item->entry);

        if (err)
            return err;
        item->name = item->entry->name;
    }
    return FERRY_OK;
}
