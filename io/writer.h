/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a file being written is to the formats: they put bytes around each array's values; order,
 * accounting and the temporary file are the same for all.
 */
#ifndef FERRY_IO_PRIVATE_WRITER_H
#define FERRY_IO_PRIVATE_WRITER_H

#include "common/arena.h"
#include "names.h"
#include "out.h"
#include "storage.h"

#include <ferry/io.h>

struct ferry__out_array {
    ferry_io_entry entry; /* its strings and dims are the arena's */
    enum ferry__storage storage;
    ferry_dtype alike; /* of elements as large as those in the file */
    uint64_t given;    /* bytes of data in the entry's dtype */
    uint64_t bytes;    /* in the file; a diff is of the same dtype and has as many */
    uint64_t place;    /* the format's: where in the file */
    uint64_t mark;     /* the format's */
    const char
        *path; /* where it is in the file of the same format that it comes from; NULL: unknown */
    struct ferry__out_array *next;
};

struct ferry__out_metadata {
    const char *key, *value;
    struct ferry__out_metadata *next;
};

struct ferry__io_attribute; /* attributes.h */

/* One format's part of writing. Entries but can_hold may be NULL: nothing is to be done. */
struct ferry__io_writer_ops {
    bool needs_plan; /* begin has to know every array */
    bool single;     /* exactly one array */
    bool unique;     /* no two arrays of one name */
    bool named;      /* the temporary file needs a name */
    /* Whether it can store elements so, where that is not their dtype. NULL: it cannot. */
    bool (*can_store)(enum ferry__storage storage);
    /* NULL, or why the array cannot be in such a file. */
    const char *(*can_hold)(const ferry_io_writer *w, const ferry_io_entry *entry);
    /* Whether the file has a place for such a string about itself. NULL: it has none. */
    bool (*takes_metadata)(const ferry_io_writer *w, const char *key, const char *value);
    /* Keeps the net's definition, of a lender's no copy. NULL: it has no place for one. */
    int (*define)(ferry_io_writer *w, const void *bytes, size_t size, char *lender);
    /* Finds out which groups and arrays there will be, and whether one is there. NULL: no attributes. */
    int (*plan_objects)(ferry_io_writer *w);
    bool (*has_object)(const ferry_io_writer *w, const char *path);
    /* Before the first array: of needs_plan, all are declared. */
    int (*begin)(ferry_io_writer *w);
    /* Before an array's data, before its diff, behind both. */
    int (*array)(ferry_io_writer *w, struct ferry__out_array *array);
    int (*diff)(ferry_io_writer *w, struct ferry__out_array *array);
    int (*end)(ferry_io_writer *w, struct ferry__out_array *array);
    /* Values, native byte order. NULL: they go to the file as little-endian. */
    int (*values)(ferry_io_writer *w, struct ferry__out_array *array, const void *values,
                  size_t size);
    /* Behind the last array; frees w->state, as discard does. */
    int (*finish)(ferry_io_writer *w);
    void (*discard)(ferry_io_writer *w);
};

extern const struct ferry__io_writer_ops ferry__caffe_writer;
extern const struct ferry__io_writer_ops ferry__blobproto_writer;
extern const struct ferry__io_writer_ops ferry__hdf5_writer; /* with libhdf5 */
extern const struct ferry__io_writer_ops ferry__npy_writer;
extern const struct ferry__io_writer_ops ferry__npz_writer;
extern const struct ferry__io_writer_ops ferry__safetensors_writer;

struct ferry_io_writer {
    struct ferry__io_out out;
    ferry_io_format format;
    const struct ferry__io_writer_ops *ops;
    void *state;
    struct ferry__mem_arena arena;
    struct ferry__out_array *first, *last;
    int64_t count;
    struct ferry__names names;
    struct ferry__out_metadata *metadata, *last_metadata;
    const struct ferry__io_attribute *attributes; /* of another file, still open; NULL: none */
    const char *attributes_path;                  /* that file's */
    ferry_io_layout layout;      /* of HDF5 */
    bool layout_chosen;          /* by the caller */
    struct ferry__names objects; /* the paths of groups and arrays, once planned */
    struct {
        const unsigned char *bytes; /* the arena's, or lent; NULL: none was given */
        size_t size;
        char *lender;                 /* the file whose they are, with its blobs; NULL */
        const unsigned char *at;      /* how far it has been written */
        uint32_t blobs;               /* the field of its last layer that has blobs */
    } definition;                     /* of a net */
    bool declared;                    /* the caller says what will come */
    bool begun;                       /* so do not change the plan */
    struct ferry__out_array *current; /* that takes the next values; NULL: none is left */
    bool in_diff;
    uint64_t left; /* bytes of its data, or of its diff */
    int spool;     /* values that wait for the plan to be complete; −1: none */
    uint64_t spooled;
    int failed; /* the first error: nothing after it makes the file whole again */
};

/* An array that cannot be in the file: FERRY_EUNSUPPORTED, which names it. */
int ferry__io_cannot_hold(const ferry_io_writer *w, const char *name, const char *why);

#endif
