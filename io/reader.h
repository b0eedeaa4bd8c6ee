/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an open file is to the formats: they find arrays in its bytes and add them; the rest, from
 * iteration to reading into a blob, is the same for all.
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
    const void *own; /* the format's, in the arena */
    struct ferry__io_array *next;
};

struct ferry__io_attribute; /* attributes.h */

/* One format's part of reading. */
struct ferry__io_reader {
    bool unique;    /* two arrays of one name are an error */
    bool adoptable; /* values may stay in the file's pages; nobody rewrites such files in place */
    /*
     * Which format the bytes are, FERRY_IO_UNKNOWN if none of this reader's. Never fails and sets
     * no message.
     */
    ferry_io_format (*probe)(const struct ferry__io_file *file);
    /* Adds every array. io->format is what probe said. */
    int (*open)(struct ferry_io *io);
    /*
     * For values of encoding FERRY__VALUES_OWN, NULL where there are none: elements start … start +
     * count − 1 of data, or of diff, row-major and native. The range was checked, count is not 0.
     */
    int (*read)(struct ferry_io *io, const struct ferry__io_array *array, bool diff, int64_t start,
                int64_t count, void *out);
    /*
     * Of values of encoding FERRY__VALUES_PLAIN, whether they are what was written: after elements
     * start … start + count − 1 were read into `out`, or before all of them are adopted, `out` NULL.
     * May be NULL: the format has no checksums.
     */
    int (*check)(struct ferry_io *io, const struct ferry__io_array *array, int64_t start,
                 int64_t count, const void *out);
    /* All attributes, in the arena; asked for once. May be NULL: the format has none. */
    int (*attributes)(struct ferry_io *io, struct ferry__io_attribute **out);
    /* Where in the file the array is, from the root. NULL: its name says all. */
    const char *(*path)(const struct ferry__io_array *array);
    /* Frees io->state, which open may have set before it failed. May be NULL. */
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

/* How a format that is an index of files gets at them; a file that is named so names no further ones. */
struct ferry__io_parts {
    int (*open)(const char *path, ferry_io **out);
    int (*find)(ferry_io *io, const char *name, const ferry_io_entry **out);
    void (*close)(ferry_io *io);
};

struct ferry_io {
    struct ferry__io_file file;
    ferry_io_format format;
    bool trusted; /* by the caller: FERRY_IO_TRUST */
    bool part;    /* of a file in several parts */
    const struct ferry__io_parts *parts;
    const struct ferry__io_reader *reader;
    void *state;
    struct ferry__mem_arena arena;
    struct ferry__io_array *first, *last;
    struct ferry__io_array **table; /* by index, once all are there */
    int64_t count, position;
    struct ferry__io_metadata *metadata, *last_metadata;
    const struct ferry__io_metadata **metadata_table; /* by index, once all are there */
    int64_t metadata_count;
    struct ferry__io_attribute *attributes; /* once has_attributes */
    bool has_attributes;
    struct ferry__names names; /* filled by the first find */
};

/* What an array is to be called; all three are copied. */
struct ferry__io_name {
    const char *name;       /* NULL: "layer/number" */
    const char *layer;      /* NULL: none */
    const char *layer_type; /* NULL: none */
    int64_t number;
};

/*
 * Adds one array; *out has name and shape, and the caller sets the rest. The dims were checked.
 * FERRY_EFORMAT where the arrays would take more memory than a file of this size justifies.
 */
int ferry__io_add(struct ferry_io *io, const struct ferry__io_name *name, ferry_dtype dtype,
                  int rank, const int64_t *shape, struct ferry__io_array **out);

/* Arena memory or FERRY_EFORMAT / NULL with a message. */
void *ferry__io_alloc(struct ferry_io *io, size_t size);
char *ferry__io_string(struct ferry_io *io, const void *bytes, size_t size);

/* Adds a string about the whole file; key and value are arena memory already. */
int ferry__io_add_metadata(struct ferry_io *io, const char *key, const char *value);

/* Sets data, and with it offset, stored_bytes and storage. */
void ferry__io_set_data(struct ferry_io *io, struct ferry__io_array *array,
                        const struct ferry__values *data);

/*
 * The values cannot be read, which is no reason to refuse the others: `storage` is the file's word for
 * their type and is copied, `why` lives for ever. data.storage is FERRY__STORED_OTHERWISE already.
 */
int ferry__io_mark(struct ferry_io *io, struct ferry__io_array *array, const char *storage,
                   const char *why);

#endif
