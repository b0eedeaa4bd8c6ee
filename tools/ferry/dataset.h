/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_DATASET_H
#define FERRY_TOOL_DATASET_H

#include "tool.h"

/*
 * `ferry dataset`: pictures with labels, from a list or from idx files, and the database that is made of
 * them. What fails is a ferry error.
 */

/* ---- where pictures come from ------------------------------------------------------------------- */

struct dataset_item {
    const char *path; /* of a list: as the list has it; else NULL */
    int32_t label;
};

/* Zero before it is opened. */
struct dataset_source {
    const char *file; /* the list, or the idx file of pictures */
    char *root;       /* put before the paths of a list */
    char *text;       /* the list, cut into lines, or all bytes of the idx file */
    struct dataset_item *items;
    int64_t count;
    int64_t channels, height, width; /* of an idx file */
    const unsigned char *pixels;     /* its first picture; NULL: it is a list */
};

/*
 * Opens a list, or an idx file with its labels in another: their content tells. `labels` and `root` may be
 * NULL; a list's paths are then those of the folder in which it is.
 */
int dataset_open(struct dataset_source *s, const char *file, const char *labels, const char *root);
void dataset_close(struct dataset_source *s);

/* The path of item `i` of a list, to be freed; NULL: no memory. */
char *dataset_path(const struct dataset_source *s, int64_t i);

/* Picture `i` into a U8 blob, of 3 or 1 channels, or 0: as it is. */
int dataset_picture(const struct dataset_source *s, int64_t i, int channels, ferry_blob *out);

/* ---- where they go ------------------------------------------------------------------------------ */

/* A Datum: values, or a picture's file. */
struct dataset_datum {
    int64_t channels, height, width;
    const unsigned char *bytes;
    size_t size;
    int32_t label;
    bool encoded;
};

struct dataset_writer;

struct dataset_backend;

/* The kind of database of that name, "lmdb" or "leveldb"; NULL: there is no such. */
const struct dataset_backend *dataset_backend_find(const char *name);

/* Begins a database beside `folder`, which must not exist. FERRY_EUNSUPPORTED without the backend's library. */
int dataset_create(const char *folder, const struct dataset_backend *backend,
                   struct dataset_writer **out);

/* Adds a record; keys come in their order. */
int dataset_put(struct dataset_writer *w, const char *key, const struct dataset_datum *datum);

/* Ends it, and gives the folder its name. */
int dataset_commit(struct dataset_writer *w);

/* Ends it, and removes what was written. NULL is accepted. */
void dataset_abort(struct dataset_writer *w);

/* ---- their mean --------------------------------------------------------------------------------- */

/* Sums of all pictures, value by value. Zero at first; the sums are to be freed. */
struct dataset_mean {
    double *sums;
    int64_t shape[3], count; /* of a picture; how many there were */
};

/* Adds a picture's values. FERRY_ESHAPE for one of another size than those before it. */
int dataset_mean_add(struct dataset_mean *m, const struct dataset_datum *values);

/* Writes the mean of the pictures that were added, one at least, as a .binaryproto. */
int dataset_mean_write(const struct dataset_mean *m, const char *path);

/* Encodes height × width pixels, blue first if there are three channels, as PNG; to be freed. */
int dataset_png(const struct dataset_datum *planes, unsigned char **out, size_t *out_size);

#endif
