/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5Data (hdf5_data_param): tops are datasets of their names, batch_size rows a forward, row after row
 * and file after file of those that the text file `source` lists, a path a line; behind the last one the
 * first begins again. Paths are those of the working folder, else of the folder of the file that names
 * them. Integers are converted. `shuffle` has the files and the rows of each in another order in each round,
 * by the net's seed. (Caffe: HDF5DataLayer, whose shuffled order is another one.)
 */
#include "net/layers/layers.h"

#include <ferry/io.h>
#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hdf5_data {
    char **files;
    int n_files, file; /* which one is open */
    ferry_blob **sets; /* its datasets, one for each top */
    int n_sets;
    int64_t rows, row, batch; /* the next row */
    int64_t *order;           /* of the rows, where they are shuffled; NULL: their own */
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "hdf5_data_param", 0);
}

/* ---- paths -------------------------------------------------------------------------------------- */

static int add_file(const ferry_layer *layer, struct hdf5_data *s, const char *line,
                    const char *list)
{
    char **grown = realloc(s->files, (size_t)(s->n_files + 1) * sizeof *grown);

    if (!grown)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its files");
    s->files = grown;
    s->files[s->n_files] = ferry__beside(line, list);
    if (!s->files[s->n_files])
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its files");
    s->n_files++;
    return 0;
}

static int read_list(const ferry_layer *layer, struct hdf5_data *s, const char *list)
{
    FILE *f = fopen(list, "r");
    char line[4096];
    int err = 0;

    if (!f)
        return ferry_proto_error(parameters(layer), "source", 0, FERRY_EIO,
                                 "layer \"%s\": \"%s\" cannot be read", ferry_layer_name(layer),
                                 list);
    while (!err && fscanf(f, "%4095s", line) == 1)
        err = add_file(layer, s, line, list);
    fclose(f);
    if (!err && !s->n_files)
        err =
            ferry_proto_error(parameters(layer), "source", 0, FERRY_EFORMAT,
                              "layer \"%s\": \"%s\" lists no file", ferry_layer_name(layer), list);
    return err;
}

/* ---- files -------------------------------------------------------------------------------------- */

static int read_set(ferry_layer *layer, struct hdf5_data *s, ferry_io *io, int top)
{
    const char *name = ferry_blob_name(ferry_layer_top(layer, top));
    const ferry_io_entry *entry = NULL;
    int err = ferry_io_find(io, name, &entry);

    if (!err && (!entry || entry->naxes < 1))
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%s\" has no dataset \"%s\" with rows",
                                s->files[s->file], name);
    if (!err && top && entry->dims[0] != s->rows)
        err = ferry_layer_error(layer, FERRY_ESHAPE, "\"%s\": \"%s\" has %lld rows, others %lld",
                                s->files[s->file], name, (long long)entry->dims[0],
                                (long long)s->rows);
    if (err)
        return err;
    s->rows = entry->dims[0];
    return ferry_io_read(io, entry, s->sets[top]);
}

/* Another order of the open file's rows, if that is wanted. */
static int shuffle_rows(ferry_layer *layer, struct hdf5_data *s)
{
    int64_t *grown, i;

    if (!ferry_proto_boolean(parameters(layer), "shuffle", 0))
        return 0;
    grown = realloc(s->order, (size_t)s->rows * sizeof *grown);
    if (!grown)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for the order of its rows");
    s->order = grown;
    for (i = 0; i < s->rows; i++) {
        int64_t k = (int64_t)ferry_layer_random(layer, (uint64_t)i + 1);

        grown[i] = grown[k];
        grown[k] = i;
    }
    return 0;
}

static void shuffle_files(ferry_layer *layer, struct hdf5_data *s)
{
    int i;

    for (i = s->n_files - 1; i > 0 && ferry_proto_boolean(parameters(layer), "shuffle", 0); i--) {
        int k = (int)ferry_layer_random(layer, (uint64_t)i + 1);
        char *kept = s->files[i];

        s->files[i] = s->files[k];
        s->files[k] = kept;
    }
}

static int open_file(ferry_layer *layer, struct hdf5_data *s, int file)
{
    ferry_io *io;
    int i, err = ferry_io_open(s->files[file], &io);

    if (err)
        return err;
    s->file = file;
    s->row = 0;
    for (i = 0; !err && i < s->n_sets; i++)
        err = read_set(layer, s, io, i);
    if (!err && s->rows < 1)
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%s\" has no rows", s->files[file]);
    ferry_io_close(io);
    return err ? err : shuffle_rows(layer, s);
}

static int make_sets(ferry_layer *layer, struct hdf5_data *s)
{
    int i, n = ferry_layer_n_tops(layer), err = 0;

    s->sets = calloc((size_t)n, sizeof(ferry_blob *));
    if (!s->sets)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its datasets");
    for (i = 0; !err && i < n; i++) {
        err = ferry_blob_create(ferry_layer_device(layer), FERRY_F32, FERRY_UNSHAPED, NULL,
                                &s->sets[i]);
        s->n_sets += !err;
    }
    return err;
}

/* ---- the layer ----------------------------------------------------------------------------------- */

static int setup(ferry_layer *layer)
{
    struct hdf5_data *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);
    char *list;
    int err;

    s->batch = ferry_proto_integer(p, "batch_size", 0);
    if (s->batch < 1)
        return ferry_proto_error(p, "batch_size", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a batch_size of %lld", ferry_layer_name(layer),
                                 (long long)s->batch);
    list =
        ferry__beside(ferry_proto_string(p, "source", 0, NULL), ferry_proto_where(p, NULL, 0).file);
    if (!list)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its source");
    err = read_list(layer, s, list);
    free(list);
    if (!err)
        err = make_sets(layer, s);
    if (err)
        return err;
    shuffle_files(layer, s);
    return open_file(layer, s, 0);
}

static void destroy(ferry_layer *layer)
{
    struct hdf5_data *s = ferry_layer_state(layer);
    int i;

    for (i = 0; i < s->n_sets; i++)
        ferry_blob_destroy(s->sets[i]);
    for (i = 0; i < s->n_files; i++)
        free(s->files[i]);
    free(s->sets);
    free(s->files);
    free(s->order);
}

static int reshape(ferry_layer *layer)
{
    const struct hdf5_data *s = ferry_layer_state(layer);
    int i, err = 0;

    for (i = 0; !err && i < s->n_sets; i++) {
        int64_t dims[FERRY_MAX_AXES];
        int naxes = ferry_blob_naxes(s->sets[i]);

        memcpy(dims, ferry_blob_dims(s->sets[i]), (size_t)naxes * sizeof *dims);
        dims[0] = s->batch;
        err = ferry_blob_reshape(ferry_layer_top(layer, i), naxes, dims, NULL);
    }
    return err;
}

/* `n` rows from the next one on to row `at` of each top. */
static int copy_rows(ferry_layer *layer, const struct hdf5_data *s, int64_t at, int64_t n)
{
    int64_t k;
    int i;

    for (i = 0; i < s->n_sets; i++) {
        ferry_blob *top = ferry_layer_top(layer, i);
        int64_t wide = ferry_blob_count_range(top, 1, ferry_blob_naxes(top));
        const float *from = ferry_blob_host_data(s->sets[i]);
        float *to = ferry_blob_mutable_host_data(top);

        if (!from || !to)
            return ferry_last_error_code();
        if (ferry_blob_count(s->sets[i]) != s->rows * wide)
            return ferry_layer_error(
                layer, FERRY_ESHAPE, "\"%s\": rows of \"%s\" have %lld elements, %lld before",
                s->files[s->file], ferry_blob_name(top),
                (long long)(ferry_blob_count(s->sets[i]) / s->rows), (long long)wide);
        for (k = 0; s->order && k < n; k++)
            memcpy(&to[(at + k) * wide], &from[s->order[s->row + k] * wide],
                   (size_t)wide * sizeof *to);
        if (!s->order)
            memcpy(&to[at * wide], &from[s->row * wide], (size_t)(n * wide) * sizeof *to);
    }
    return 0;
}

/* Behind the last row: the next file, or another round of the only one. */
static int go_on(ferry_layer *layer, struct hdf5_data *s)
{
    int next = (s->file + 1) % s->n_files;

    if (next == 0)
        shuffle_files(layer, s);
    if (s->n_files > 1)
        return open_file(layer, s, next);
    s->row = 0;
    return shuffle_rows(layer, s);
}

static int forward(ferry_layer *layer)
{
    struct hdf5_data *s = ferry_layer_state(layer);
    int64_t at = 0;
    int err = 0;

    while (!err && at < s->batch) {
        int64_t n = s->rows - s->row < s->batch - at ? s->rows - s->row : s->batch - at;

        err = copy_rows(layer, s, at, n);
        if (err)
            break;
        at += n;
        s->row += n;
        if (s->row == s->rows)
            err = go_on(layer, s);
    }
    return err;
}

static const char *const messages[] = { "hdf5_data_param", NULL };

const ferry_layer_type ferry__hdf5_data_layer = {
    .struct_size = sizeof ferry__hdf5_data_layer,
    .name = "HDF5Data",
    .state_size = sizeof(struct hdf5_data),
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = -1,
    .messages = messages,
    .setup = setup,
    .reshape = reshape,
    .forward = forward,
    .destroy = destroy,
};
