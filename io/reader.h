/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between an open file and the code of its format. The format's code finds the arrays
 * in the bytes and adds them; iteration and reading into blobs are the same for all formats.
 */
#ifndef FERRY_IO_PRIVATE_READER_H
#define FERRY_IO_PRIVATE_READER_H

#include "common/arena.h"
#include "file_map.h"
#include "names.h"
#include "values.h"

#include <ferry/io.h>

struct ferry__io_array {
    ferry_io_entry entry;
    struct ferry__values data, diff;
    const void *own; /* private data of the format, in the arena */
    struct ferry__io_array *next;
};

struct ferry__io_attribute; /* declared in attributes.h */

/* The reading functions of a format. */
struct ferry__io_reader {
    bool unique;    /* two arrays with the same name are an error */
    bool adoptable; /* values may stay in the file's pages; files of the format are not rewritten
                     * in place */
    /*
     * Detects the format of the bytes: FERRY_IO_UNKNOWN if it is not one of this reader's formats.
     * Never fails and sets no message.
     */
    ferry_io_format (*probe)(const struct ferry__io_file *file);
    /* Adds every array. io->format has the result of probe. */
    int (*open)(struct ferry_io *io);
    /*
     * Reads elements start … start + count − 1 of data, or of diff, row-major and in native byte
     * order. Called for values with encoding FERRY__VALUES_OWN; NULL if the format has no such
     * values. The range is valid, count is not 0.
     */
    int (*read)(struct ferry_io *io, const struct ferry__io_array *array, bool diff, int64_t start,
                int64_t count, void *out);
    /*
     * Checks the checksum of values with encoding FERRY__VALUES_PLAIN: after elements start … start
     * + count − 1 were read into `out`, or, with `out` NULL, before all values are adopted. May be
     * NULL: the format has no checksums.
     */
    int (*check)(struct ferry_io *io, const struct ferry__io_array *array, int64_t start,
                 int64_t count, const void *out);
    /* Lists all attributes in the arena; called once. May be NULL: the format has no attributes. */
    int (*attributes)(struct ferry_io *io, struct ferry__io_attribute **out);
    /* The array's path in the file, from the root. NULL: the array's name is its path. */
    const char *(*path)(const struct ferry__io_array *array);
    /* Frees io->state, which a failed open may have set. May be NULL. */
    void (*close)(struct ferry_io *io);
};

extern const struct ferry__io_reader ferry__caffemodel_reader;
extern const struct ferry__io_reader ferry__hdf5_reader;
extern const struct ferry__io_reader ferry__npy_reader;
extern const struct ferry__io_reader ferry__npz_reader;
extern const struct ferry__io_reader ferry__safetensors_reader;
extern const struct ferry__io_reader ferry__sharded_reader;
extern const struct ferry__io_reader ferry__torch_reader;

struct ferry__io_metadata {
    const char *key, *value;
    struct ferry__io_metadata *next;
};

/* Access to the files that an index lists; such a file may not be an index itself. */
struct ferry__io_parts {
    int (*open)(const char *path, ferry_io **out);
    int (*find)(ferry_io *io, const char *name, const ferry_io_entry **out);
    void (*close)(ferry_io *io);
};

struct ferry_io {
    struct ferry__io_file file;
    ferry_io_format format;
    bool trusted; /* the caller trusts the file: FERRY_IO_TRUST */
    bool part;    /* the file is listed in an index */
    const struct ferry__io_parts *parts;
    const struct ferry__io_reader *reader;
    void *state;
    struct ferry__mem_arena arena;
    struct ferry__io_array *first, *last;
    struct ferry__io_array **table; /* the arrays by index, once all are added */
    int64_t count, position;
    struct ferry__io_metadata *metadata, *last_metadata;
    const struct ferry__io_metadata **metadata_table; /* the metadata by index, once all arrays are
                                                       * added */
    int64_t metadata_count;
    struct ferry__io_attribute *attributes; /* valid once has_attributes is set */
    bool has_attributes;
    struct ferry__names names; /* the arrays by name, filled by the first call of find */
};

/* The names of an array; the three strings are copied. */
struct ferry__io_name {
    const char *name;       /* NULL: the name is "layer/number" */
    const char *layer;      /* NULL: no layer */
    const char *layer_type; /* NULL: no layer */
    int64_t number;
};

/*
 * Adds one array; *out has name and shape, and the caller sets the rest. The dims are valid.
 * FERRY_EFORMAT if the arrays would need more memory than is plausible for a file of this size.
 */
int ferry__io_add(struct ferry_io *io, const struct ferry__io_name *name, ferry_dtype dtype,
                  int rank, const int64_t *shape, struct ferry__io_array **out);

/* Arena memory; NULL, with the message of FERRY_EFORMAT, beyond the limit. */
void *ferry__io_alloc(struct ferry_io *io, size_t size);
char *ferry__io_string(struct ferry_io *io, const void *bytes, size_t size);

/* Adds a string of metadata of the whole file; key and value are arena memory. */
int ferry__io_add_metadata(struct ferry_io *io, const char *key, const char *value);

/* Sets data together with offset, stored_bytes and storage. */
void ferry__io_set_data(struct ferry_io *io, struct ferry__io_array *array,
                        const struct ferry__values *data);

/*
 * Marks an array whose values cannot be read; the others stay readable. `storage`, the file's name
 * of the type, is copied; `why` is a static string. data.storage must be FERRY__STORED_OTHERWISE.
 */
int ferry__io_mark(struct ferry_io *io, struct ferry__io_array *array, const char *storage,
                   const char *why);

#endif
