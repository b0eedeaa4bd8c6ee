/* SPDX-License-Identifier: BSD-2-Clause */
#include "inspect.h"
#include "progress.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* `ferry inspect`: lists the arrays of a file, with norms computed on the selected device. */

/*
 * The number of arrays of a file from which on the host sums the small ones, because a transfer
 * would take longer.
 */
#define MANY_ARRAYS  64
#define FEW_ELEMENTS 65536

/* ---- one array ------------------------------------------------------------------------------ */

/*
 * The dtype in which norms are computed. Integers are a storage format: they are converted to F64.
 */
static ferry_dtype working_dtype(ferry_dtype dtype)
{
    return dtype == FERRY_F32 || dtype == FERRY_F16 || dtype == FERRY_BF16 ? dtype : FERRY_F64;
}

/* Copies the array to the device and computes its norms there. */
static int measure_there(ferry_device *device, ferry_io *io, const ferry_io_entry *entry,
                         double *out_l1, double *out_sumsq)
{
    ferry_blob *b = NULL;
    int err = ferry_blob_create(device, working_dtype(entry->dtype), entry->shape, entry->rank, &b);

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

/* Reads one tile in the dtype of the file and converts it to the working dtype. */
static int measure_tile(ferry_io *io, const ferry_io_entry *entry, int64_t start, int64_t n,
                        ferry_blob *from, ferry_blob *to, struct inspect_row *row)
{
    double l1 = 0, sumsq = 0;
    int err = ferry_blob_reshape(from, &n, 1, NULL);
    void *values = err ? NULL : ferry_blob_overwrite_host_data(from);

    if (!values)
        return err ? err : ferry_last_error_code();
    err = ferry_io_read_values(io, entry, start, n, values);
    if (!err)
        err = ferry_blob_copy_from(to, from, FERRY_COPY_RESHAPE);
    if (!err && !ferry_blob_device_data(to).handle)
        err = ferry_last_error_code();
    if (!err)
        err = ferry_blob_asum_data(to, &l1);
    if (!err)
        err = ferry_blob_sumsq_data(to, &sumsq);
    row->l1 += l1;
    row->sumsq += sumsq;
    return err;
}

static int measure_in_tiles(const struct inspection *in, struct inspect_row *row)
{
    const ferry_io_entry *entry = row->entry;
    int64_t most = FILES_TILE / (int64_t)sizeof(double);
    ferry_blob *from = NULL, *to = NULL;
    int err = ferry_blob_create(in->device, entry->dtype, &most, 1, &from);

    if (!err)
        err = ferry_blob_create(in->device, working_dtype(entry->dtype), &most, 1, &to);
    for (int64_t start = 0; start < entry->count && !err; start += most)
        err =
            measure_tile(in->io, entry, start,
                         entry->count - start < most ? entry->count - start : most, from, to, row);
    ferry_blob_destroy(from);
    ferry_blob_destroy(to);
    return err;
}

/*
 * Whether the array takes much more memory than in the file: it is compressed, or of narrow
 * integers.
 */
static bool expands(const ferry_io_entry *entry)
{
    uint64_t bytes = (uint64_t)entry->count * ferry_dtype_size(working_dtype(entry->dtype));

    return bytes > FILES_TILE && bytes > entry->stored_bytes;
}

/*
 * Whether the norm has overflowed. A device may accumulate in F32, where squares overflow long
 * before the values do.
 */
static bool left_range(const struct inspect_row *row)
{
    return isinf(row->l1) || isinf(row->sumsq) || (row->sumsq == 0 && row->l1 > 0);
}

static int measure_values(const struct inspection *in, struct inspect_row *row, void *tile)
{
    const ferry_io_entry *entry = row->entry;
    bool here = ferry_io_entry_count(in->io) > MANY_ARRAYS && entry->count <= FEW_ELEMENTS;
    int err;

    err = here             ? inspect_norms(in->io, entry, tile, &row->l1, &row->sumsq)
          : expands(entry) ? measure_in_tiles(in, row)
                           : measure_there(in->device, in->io, entry, &row->l1, &row->sumsq);
    if (!err && !here && left_range(row))
        err = inspect_norms(in->io, entry, tile, &row->l1, &row->sumsq);
    if (!err && (in->stats || in->plot))
        err = inspect_measure(in->io, entry, tile, &row->stats);
    if (!err && in->sha256)
        err = inspect_digest(in->io, entry, tile, row->sha256);
    return err;
}

/*
 * Measures an array. One with a value that no dtype of ferry can hold is marked, and the others are
 * still listed.
 */
static int measure(const struct inspection *in, struct inspect_row *row, void *tile)
{
    const ferry_io_entry *entry = row->entry;
    const char *dtype = ferry_dtype_name(entry->dtype);
    int err;

    row->unreadable = entry->unreadable;
    err = row->unreadable ? FERRY_OK : measure_values(in, row, tile);
    if (err != FERRY_EOVERFLOW || strcmp(entry->storage, dtype) == 0)
        return err;
    snprintf(row->beyond, sizeof(row->beyond), "a value of %.16s is beyond %.16s", entry->storage,
             dtype);
    row->unreadable = row->beyond;
    return FERRY_OK;
}

/* ---- all arrays ----------------------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    const struct inspect_row *a = left, *b = right;

    if (a->entry->stored_bytes != b->entry->stored_bytes)
        return a->entry->stored_bytes > b->entry->stored_bytes ? -1 : 1;
    return a->entry->index < b->entry->index ? -1 : 1;
}

static int by_name(const void *left, const void *right)
{
    const struct inspect_row *a = left, *b = right;
    int c = strcmp(a->entry->name, b->entry->name);

    return c ? c : a->entry->index < b->entry->index ? -1 : 1;
}

/* Compares two results: the largest norm first; NaN last. */
static int by_l1(const void *left, const void *right)
{
    const struct inspect_row *a = left, *b = right;

    if (a->l1 > b->l1 || b->l1 > a->l1)
        return a->l1 > b->l1 ? -1 : 1;
    if ((a->l1 != a->l1) != (b->l1 != b->l1))
        return a->l1 != a->l1 ? 1 : -1;
    return a->entry->index < b->entry->index ? -1 : 1;
}

typedef int (*order_fn)(const void *, const void *);

static int parse_order(const char *text, order_fn *out)
{
    if (!text)
        *out = NULL;
    else if (strcmp(text, "size") == 0)
        *out = by_size;
    else if (strcmp(text, "name") == 0)
        *out = by_name;
    else if (strcmp(text, "l1") == 0)
        *out = by_l1;
    else
        return tool_error(TOOL_USAGE, "inspect: --sort %s: expected size, name or l1", text);
    return TOOL_OK;
}

static bool is_wanted(const struct inspection *in, const ferry_io_entry *entry)
{
    return !in->only || fnmatch(in->only, entry->name, 0) == 0;
}

/* The bytes of all arrays to measure. */
static uint64_t bytes_of(const struct inspection *in)
{
    const ferry_io_entry *entry;
    uint64_t bytes = 0;

    for (int64_t i = 0; ferry_io_entry_at(in->io, i, &entry) == FERRY_OK; i++)
        bytes += is_wanted(in, entry) ? entry->stored_bytes : 0;
    return bytes;
}

static int measure_all(struct inspection *in)
{
    void *tile = malloc(FILES_PIECE);
    struct progress progress = { .quiet = false };
    const ferry_io_entry *entry;
    int err = FERRY_OK;

    in->rows = calloc((size_t)ferry_io_entry_count(in->io) + 1, sizeof(*in->rows));
    if (!tile || !in->rows) {
        free(tile);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    progress_begin(&progress, "measuring", NULL, bytes_of(in));
    for (int64_t i = 0; i < ferry_io_entry_count(in->io) && !err; i++) {
        err = ferry_io_entry_at(in->io, i, &entry);
        if (err || !is_wanted(in, entry))
            continue;
        in->rows[in->count].entry = entry;
        err = measure(in, &in->rows[in->count], tile);
        in->count++;
        progress_step(&progress, entry->stored_bytes);
    }
    progress_end(&progress);
    free(tile);
    return err ? tool_ferry_error() : TOOL_OK;
}

static int inspect(struct inspection *in, ferry_runtime *rt, order_fn order)
{
    int status;

    /* the file is opened first, because its errors need no device */
    if (files_open(in->path, in->trust, &in->io))
        return tool_ferry_error();
    if (strcmp(in->path, "-") == 0)
        in->path = "standard input";
    if (ferry_runtime_get_device(rt, NULL, &in->device))
        status = tool_ferry_error();
    else
        status = measure_all(in);
    if (status == TOOL_OK && in->only && in->count == 0)
        status = tool_error(TOOL_FAILURE, "inspect: --only %s: matches no array of %s", in->only,
                            in->path);
    if (status == TOOL_OK && order)
        qsort(in->rows, in->count, sizeof(*in->rows), order);
    if (status == TOOL_OK && in->plot)
        status = inspect_draw(in, in->plot);
    if (status == TOOL_OK)
        status = inspect_print(in);
    free(in->rows);
    ferry_io_close(in->io);
    return status;
}

/* Checks the path of --plot, which may be neither standard output nor the weights' own file. */
static int check_plot(const struct inspection *in)
{
    struct stat plot, file;

    if (!in->plot)
        return TOOL_OK;
    if (strcmp(in->plot, "-") == 0)
        return tool_error(TOOL_USAGE, "inspect: --plot writes a file, not standard output");
    if (stat(in->plot, &plot) == 0 && stat(in->path, &file) == 0 && plot.st_dev == file.st_dev &&
        plot.st_ino == file.st_ino)
        return tool_error(TOOL_USAGE, "inspect: --plot %s: is the file itself", in->plot);
    return TOOL_OK;
}

int cmd_inspect(const struct tool_command *self, int argc, char **argv)
{
    struct inspection in = { .device = NULL };
    const char *sort = NULL;
    const struct tool_option options[] = {
        { "--json", NULL, &in.json, NULL },     { "--stats", NULL, &in.stats, NULL },
        { "--sha256", NULL, &in.sha256, NULL }, { "--trust", NULL, &in.trust, NULL },
        { "--only", NULL, NULL, &in.only },     { "--sort", NULL, NULL, &sort },
        { "--plot", NULL, NULL, &in.plot },     { NULL, NULL, NULL, NULL }
    };
    int n = tool_parse(self, argc, argv, options, 1);
    order_fn order = NULL;
    ferry_runtime *rt = NULL;
    int status;

    if (n < 0)
        return tool_parse_status(n);
    if (n == 0)
        return tool_error(TOOL_USAGE, "inspect: missing file; usage: ferry inspect %s",
                          self->arguments);
    in.path = argv[0];
    status = parse_order(sort, &order);
    if (status == TOOL_OK)
        status = check_plot(&in);
    if (status != TOOL_OK)
        return status;
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    status = inspect(&in, rt, order);
    ferry_runtime_close(rt);
    return status;
}
