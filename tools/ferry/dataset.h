/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_DATASET_H
#define FERRY_TOOL_DATASET_H

#include "tool.h"

/*
 * `ferry dataset`: the source of pictures with labels (a list or idx files), and the database that
 * they are written to. Functions return ferry errors.
 */

/* ---- the source of pictures ------------------------------------------------------------------ */

struct dataset_item {
    const char *path; /* the path in the list; NULL for idx files */
    int32_t label;
};

/* A source. It must be zero before it is opened. */
struct dataset_source {
    const char *file; /* the list, or the idx file of pictures */
    char *root;       /* prefix of the paths of a list */
    char *text;       /* the list, split into lines, or all bytes of the idx file */
    struct dataset_item *items;
    int64_t count;
    int64_t channels, height, width; /* for an idx file */
    const unsigned char *pixels;     /* the first picture of an idx file; NULL for a list */
};

/*
 * Opens a list, or an idx file of pictures with its labels in another file, as the file's content
 * indicates. `labels` and `root` may be NULL; the paths of a list are then relative to the list's
 * folder.
 */
int dataset_open(struct dataset_source *s, const char *file, const char *labels, const char *root);
void dataset_close(struct dataset_source *s);

/* The path of item `i` of a list, which the caller frees; NULL if out of memory. */
char *dataset_path(const struct dataset_source *s, int64_t i);

/* Reads picture `i` into a U8 blob of 3 or 1 channels; 0 keeps the picture's own number. */
int dataset_picture(const struct dataset_source *s, int64_t i, int channels, ferry_blob *out);

/* ---- the database ---------------------------------------------------------------------------- */

/* The content of a Datum: decoded values, or the bytes of a picture's file. */
struct dataset_datum {
    int64_t channels, height, width;
    const unsigned char *bytes;
    size_t size;
    int32_t label;
    bool encoded;
};

struct dataset_writer;

struct dataset_backend;

/* The kind of database of that name, "lmdb" or "leveldb"; NULL for any other name. */
const struct dataset_backend *dataset_backend_find(const char *name);

/*
 * Starts a database in a temporary folder beside `folder`, which must not exist. FERRY_EUNSUPPORTED
 * without the backend's library.
 */
int dataset_create(const char *folder, const struct dataset_backend *backend,
                   struct dataset_writer **out);

/* Adds a record; keys must be in ascending order. */
int dataset_put(struct dataset_writer *w, const char *key, const struct dataset_datum *datum);

/* Closes the database and renames the folder to its final name. */
int dataset_commit(struct dataset_writer *w);

/* Closes the database and removes it. NULL is accepted. */
void dataset_abort(struct dataset_writer *w);

/* ---- the mean ------------------------------------------------------------------------------- */

/*
 * The sums of all pictures, value by value. The structure must be zero at first; the caller frees
 * the sums.
 */
struct dataset_mean {
    double *sums;
    int64_t shape[3], count; /* the shape of a picture, and the number of pictures */
};

/* Adds a picture's values. FERRY_ESHAPE if its size differs from that of the previous ones. */
int dataset_mean_add(struct dataset_mean *m, const struct dataset_datum *values);

/* Writes the mean of the added pictures, at least one, as a .binaryproto. */
int dataset_mean_write(const struct dataset_mean *m, const char *path);

/*
 * Encodes height × width pixels, blue first if there are three channels, as PNG; the caller frees
 * the result.
 */
int dataset_png(const struct dataset_datum *planes, unsigned char **out, size_t *out_size);

#endif
