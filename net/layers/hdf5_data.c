/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5Data (hdf5_data_param): the tops are filled from the datasets of the same names, batch_size
 * rows in each forward pass, row by row and file by file from the text file `source`, which has one
 * path on each line; after the last row reading restarts at the first. Paths are relative to the
 * working directory, or else to the folder of the list. Integers are converted. `shuffle` reorders
 * the files and the rows of each file in each epoch, by the net's seed. Rows are not transformed: a
 * transform_param is refused, as in Caffe. data_param.prefetch batches are prefetched; Caffe's
 * layer does not prefetch. (Caffe: HDF5DataLayer, whose shuffled order differs.)
 */
#define _POSIX_C_SOURCE 200809L
#include "net/layers/reader.h"

#include "net/data/chance.h"

#include <ferry/io.h>
#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    int rank;
    int64_t shape[FERRY_MAX_AXES];
};

struct hdf5_data {
    struct ferry__reader reader;
    char **files;
    int n_files, file;  /* the open file: its position in this epoch */
    int64_t *file_rows; /* rows of each file; 0: not opened yet */
    int64_t *file_order;
    uint64_t round, next; /* the number of completed epochs, and of rows read so far */
    bool must_seek;       /* reading failed, so the position does not match `next` */
    ferry_blob **sets;    /* the datasets of the open file, one for each top */
    int n_sets;
    struct shape *shapes;     /* for each top: the shape of the first file's rows */
    int64_t rows, row, batch; /* the next row */
    int64_t *order;           /* the shuffled order of the rows; NULL: not shuffled */
};

static const ferry_proto *parameters(const ferry_layer *layer)
{
    return ferry_proto_message(ferry_layer_message(layer), "hdf5_data_param", 0);
}

static bool shuffles(const ferry_layer *layer)
{
    return ferry_proto_boolean(parameters(layer), "shuffle", 0) != 0;
}

/* The path of the open file. */
static const char *open_name(const struct hdf5_data *s)
{
    return s->files[s->file_order[s->file]];
}

/* ---- paths ----------------------------------------------------------------------------------- */

static int add_file(const ferry_layer *layer, struct hdf5_data *s, const char *line,
                    const char *list)
{
    char **grown = realloc(s->files, (size_t)(s->n_files + 1) * sizeof *grown), why[900];
    int err;

    if (!grown)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its files");
    s->files = grown;
    err = ferry__find_file(line, list, &s->files[s->n_files]);
    if (err) {
        snprintf(why, sizeof why, "%s", ferry_last_error());
        return ferry_layer_error(layer, err, "%s", why);
    }
    s->n_files++;
    return 0;
}

static int read_list(const ferry_layer *layer, struct hdf5_data *s, const char *list)
{
    char *text, *rest, *path;
    int err = ferry__source_read(layer, parameters(layer), list, &text);

    if (err)
        return err;
    rest = text;
    while (!err && (path = strtok_r(rest, " \t\n\v\f\r", &rest)))
        err = add_file(layer, s, path, list);
    free(text);
    if (!err && !s->n_files)
        err =
            ferry_proto_error(parameters(layer), "source", 0, FERRY_EFORMAT,
                              "layer \"%s\": \"%s\" lists no files", ferry_layer_name(layer), list);
    return err;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_set(ferry_layer *layer, struct hdf5_data *s, ferry_io *io, int top)
{
    const char *name = ferry_blob_name(ferry_layer_top_at(layer, top));
    const ferry_io_entry *entry = NULL;
    int err = ferry_io_entry_find(io, name, &entry);

    if (!err && (!entry || entry->rank < 1))
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%s\" has no dataset \"%s\" with rows",
                                open_name(s), name);
    if (!err && top && entry->shape[0] != s->rows)
        err = ferry_layer_error(layer, FERRY_ESHAPE, "\"%s\": \"%s\" has %lld rows, not %lld",
                                open_name(s), name, (long long)entry->shape[0], (long long)s->rows);
    if (err)
        return err;
    s->rows = entry->shape[0];
    return ferry_io_read(io, entry, s->sets[top]);
}

/* Shuffles the rows of the open file, if `shuffle` is set. */
static int shuffle_rows(ferry_layer *layer, struct hdf5_data *s)
{
    uint64_t which = s->round * (uint64_t)s->n_files + (uint64_t)s->file;
    int64_t *grown;

    if (!shuffles(layer))
        return 0;
    grown = realloc(s->order, (size_t)s->rows * sizeof *grown);
    if (!grown)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for the order of its rows");
    s->order = grown;
    ferry__chance_order(ferry__chance(s->reader.key, FERRY__CHANCE_INNER, which), grown, s->rows);
    return 0;
}

static void order_files(ferry_layer *layer, struct hdf5_data *s)
{
    int i;

    if (shuffles(layer))
        ferry__chance_order(ferry__chance(s->reader.key, FERRY__CHANCE_ORDER, s->round),
                            s->file_order, s->n_files);
    else
        for (i = 0; i < s->n_files; i++)
            s->file_order[i] = i;
}

/* Opens the file at that position of this epoch, at its first row. */
static int open_file(ferry_layer *layer, struct hdf5_data *s, int file)
{
    ferry_io *io;
    int i, err;

    s->file = file;
    s->row = 0;
    err = ferry_io_open(open_name(s), &io);
    if (err)
        return err;
    for (i = 0; !err && i < s->n_sets; i++)
        err = read_set(layer, s, io, i);
    if (!err && s->rows < 1)
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%s\" has no rows", open_name(s));
    ferry_io_close(io);
    if (!err)
        s->file_rows[s->file_order[file]] = s->rows;
    return err ? err : shuffle_rows(layer, s);
}

static int make_sets(ferry_layer *layer, struct hdf5_data *s)
{
    int i, n = ferry_layer_top_count(layer), err = 0;

    s->sets = calloc((size_t)n, sizeof(ferry_blob *));
    s->shapes = calloc((size_t)n, sizeof *s->shapes);
    s->file_rows = calloc((size_t)s->n_files, sizeof *s->file_rows);
    s->file_order = calloc((size_t)s->n_files, sizeof *s->file_order);
    if (!s->sets || !s->shapes || !s->file_rows || !s->file_order)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its datasets");
    for (i = 0; !err && i < n; i++) {
        err = ferry_blob_create(ferry_layer_device(layer), FERRY_F32, NULL, FERRY_UNSHAPED,
                                &s->sets[i]);
        s->n_sets += !err;
    }
    return err;
}

/*
 * ---- seeking
 * -------------------------------------------------------------------------------------
 */

/* Counts the rows of a file that was not opened before. */
static int count_rows(ferry_layer *layer, struct hdf5_data *s, int file)
{
    const char *name = ferry_blob_name(ferry_layer_top_at(layer, 0));
    const ferry_io_entry *entry = NULL;
    ferry_io *io;
    int err = ferry_io_open(s->files[file], &io);

    if (err)
        return err;
    err = ferry_io_entry_find(io, name, &entry);
    if (!err && (!entry || entry->rank < 1 || entry->shape[0] < 1))
        err = ferry_layer_error(layer, FERRY_EFORMAT, "\"%s\" has no dataset \"%s\" with rows",
                                s->files[file], name);
    if (!err)
        s->file_rows[file] = entry->shape[0];
    ferry_io_close(io);
    return err;
}

/*
 * Seeks to a row, counted from the first row of the first epoch. An epoch reads each row once, so
 * the files' lengths determine the file.
 */
static int go_to(ferry_layer *layer, struct hdf5_data *s, uint64_t to)
{
    uint64_t all = 0, at;
    int i, err = 0;

    for (i = 0; !err && i < s->n_files; i++) {
        if (!s->file_rows[i])
            err = count_rows(layer, s, i);
        all += (uint64_t)s->file_rows[i];
    }
    if (err)
        return err;
    s->next = to;
    s->round = to / all;
    order_files(layer, s);
    for (at = to % all, i = 0; at >= (uint64_t)s->file_rows[s->file_order[i]]; i++)
        at -= (uint64_t)s->file_rows[s->file_order[i]];
    s->must_seek = true;
    err = open_file(layer, s, i);
    if (!err && (int64_t)at >= s->rows)
        err = ferry_layer_error(layer, FERRY_ESHAPE, "\"%s\" has %lld rows, and had more before",
                                open_name(s), (long long)s->rows);
    s->row = (int64_t)at;
    s->must_seek = err != 0;
    return err;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void keep_shapes(struct hdf5_data *s)
{
    int i;

    for (i = 0; i < s->n_sets; i++) {
        s->shapes[i].rank = ferry_blob_rank(s->sets[i]);
        memcpy(s->shapes[i].shape, ferry_blob_shape(s->sets[i]),
               (size_t)s->shapes[i].rank * sizeof(int64_t));
        s->shapes[i].shape[0] = s->batch;
    }
}

static int shape(const struct shape *shape, ferry_blob *out)
{
    return ferry_blob_reshape(out, shape->shape, shape->rank, NULL);
}

/* Whether rows have the same shape, up to leading axes of 1. */
static bool same_rows(const ferry_blob *a, const ferry_blob *b)
{
    int i = ferry_blob_rank(a), k = ferry_blob_rank(b);

    while (i > 1 || k > 1)
        if ((i > 1 ? ferry_blob_dim(a, --i) : 1) != (k > 1 ? ferry_blob_dim(b, --k) : 1))
            return false;
    return true;
}

static int misfit(const ferry_layer *layer, const struct hdf5_data *s, int i,
                  const ferry_blob *batch)
{
    char theirs[128] = "", first[128] = "";

    ferry_blob_shape_string(s->sets[i], theirs, sizeof theirs);
    ferry_blob_shape_string(batch, first, sizeof first);
    return ferry_layer_error(layer, FERRY_ESHAPE,
                             "\"%s\": \"%s\" is %s; its rows do not fit into a batch of %s, the "
                             "first file's shape",
                             open_name(s), ferry_blob_name(ferry_layer_top_at(layer, i)), theirs,
                             first);
}

/* Copies the next `n` rows to row `at` of each of `tops`. */
static int copy_rows(ferry_layer *layer, const struct hdf5_data *s, ferry_blob **tops, int64_t at,
                     int64_t n)
{
    int64_t k;
    int i;

    for (i = 0; i < s->n_sets; i++) {
        ferry_blob *top = tops[i];
        int64_t wide = ferry_blob_element_count_range(top, 1, ferry_blob_rank(top));
        const float *from = ferry_blob_host_data(s->sets[i]);
        float *to = ferry_blob_mutable_host_data(top);

        if (!from || !to)
            return ferry_last_error_code();
        if (!same_rows(s->sets[i], top))
            return misfit(layer, s, i, top);
        for (k = 0; s->order && k < n; k++)
            memcpy(&to[(at + k) * wide], &from[s->order[s->row + k] * wide],
                   (size_t)wide * sizeof *to);
        if (!s->order)
            memcpy(&to[at * wide], &from[s->row * wide], (size_t)(n * wide) * sizeof *to);
    }
    return 0;
}

/*
 * Called after the last row of a file: opens the next file, or starts another epoch of a single
 * file.
 */
static int next_file(ferry_layer *layer, struct hdf5_data *s)
{
    int next = (s->file + 1) % s->n_files;

    s->round += next == 0;
    order_files(layer, s);
    if (s->n_files > 1)
        return open_file(layer, s, next);
    s->row = 0;
    return shuffle_rows(layer, s);
}

static void pass_rows(struct hdf5_data *s, int64_t n)
{
    s->row += n;
    s->next += (uint64_t)n;
}

/* Skips the rows that other ranks read. */
static int skip_rows(ferry_layer *layer, struct hdf5_data *s, int64_t n)
{
    int64_t some;
    int err = 0;

    for (; !err && n; n -= some) {
        some = 0;
        if (s->row == s->rows)
            err = next_file(layer, s);
        if (err)
            break;
        some = s->rows - s->row < n ? s->rows - s->row : n;
        pass_rows(s, some);
    }
    return err;
}

/* Reads consecutive rows into the tops from row *at on. */
static int read_rows(ferry_layer *layer, struct hdf5_data *s, ferry_blob **tops, int64_t *at)
{
    int64_t n, most = s->reader.ranks > 1 ? 1 : s->batch - *at;
    int err = s->row == s->rows ? next_file(layer, s) : 0;

    if (err)
        return err;
    n = s->rows - s->row < most ? s->rows - s->row : most;
    err = copy_rows(layer, s, tops, *at, n);
    if (err)
        return err;
    pass_rows(s, n);
    *at += n;
    return skip_rows(layer, s, (int64_t)s->reader.ranks - 1);
}

static int read_batch(void *arg, struct ferry__batch *batch)
{
    ferry_layer *layer = arg;
    struct hdf5_data *s = ferry_layer_state(layer);
    uint64_t first = s->next;
    int64_t at = 0;
    int i, err = 0;

    if (s->must_seek)
        err = go_to(layer, s, first);
    for (i = 0; !err && i < s->n_sets; i++)
        err = shape(&s->shapes[i], batch->blobs[i]);
    while (!err && at < s->batch && !ferry__prefetch_ends(s->reader.prefetch))
        err = read_rows(layer, s, batch->blobs, &at);
    batch->position = s->next - s->reader.rank;
    s->must_seek = err != 0;
    if (err)
        s->next = first;
    return err;
}

/* ---- the layer ------------------------------------------------------------------------------- */

static int setup(ferry_layer *layer)
{
    struct hdf5_data *s = ferry_layer_state(layer);
    const ferry_proto *p = parameters(layer);
    char *list;
    int err;

    if (ferry_proto_value_count(ferry_layer_message(layer), "transform_param"))
        return ferry_proto_error(
            ferry_layer_message(layer), "transform_param", 0, FERRY_EFORMAT,
            "layer \"%s\": HDF5Data does not transform data: transform_param must not be set",
            ferry_layer_name(layer));
    s->batch = ferry_proto_integer(p, "batch_size", 0);
    if (s->batch < 1)
        return ferry_proto_error(p, "batch_size", 0, FERRY_EFORMAT,
                                 "layer \"%s\": a batch_size of %lld", ferry_layer_name(layer),
                                 (long long)s->batch);
    err = ferry__reader_setup(layer, &s->reader, read_batch);
    if (err)
        return err;
    err = ferry__file_of(layer, p, "source", &list);
    if (err)
        return err;
    ferry_log_write(FERRY_LOG_INFO, "Loading list of HDF5 filenames from: %s", list);
    err = read_list(layer, s, list);
    free(list);
    if (!err)
        ferry_log_write(FERRY_LOG_INFO, "Number of HDF5 files: %d", s->n_files);
    if (!err)
        err = make_sets(layer, s);
    if (err)
        return err;
    order_files(layer, s);
    err = open_file(layer, s, 0);
    if (!err)
        keep_shapes(s);
    s->next = s->reader.rank;
    s->must_seek = s->next > 0; /* the first read seeks */
    return err;
}

static void destroy(ferry_layer *layer)
{
    struct hdf5_data *s = ferry_layer_state(layer);
    int i;

    ferry__reader_end(&s->reader);
    for (i = 0; i < s->n_sets; i++)
        ferry_blob_destroy(s->sets[i]);
    for (i = 0; i < s->n_files; i++)
        free(s->files[i]);
    free(s->sets);
    free(s->files);
    free(s->shapes);
    free(s->file_rows);
    free(s->file_order);
    free(s->order);
}

static int reshape(ferry_layer *layer)
{
    const struct hdf5_data *s = ferry_layer_state(layer);
    int i, err = 0;

    for (i = 0; !err && i < s->n_sets; i++)
        err = shape(&s->shapes[i], ferry_layer_top_at(layer, i));
    return err;
}

/* ---- position -------------------------------------------------------------------------- */

static int seek(ferry_layer *layer, uint64_t to)
{
    struct hdf5_data *s = ferry_layer_state(layer);
    int err = ferry__reader_stop(layer, &s->reader);

    if (!err)
        err = go_to(layer, s, to + s->reader.rank);
    if (!err)
        s->reader.position = to;
    return err;
}

static int seed(ferry_layer *layer)
{
    struct hdf5_data *s = ferry_layer_state(layer);

    return ferry__reader_seed(layer, &s->reader);
}

static const char *const messages[] = { "hdf5_data_param", "data_param", NULL };

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
    .forward = ferry__reader_forward,
    .destroy = destroy,
    .position = ferry__reader_position,
    .seek = seek,
    .seed = seed,
};
