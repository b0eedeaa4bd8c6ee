/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between a file being written and the code of its format. The format's code writes
 * the bytes around each array's values; order, accounting and the temporary file are common to all
 * formats.
 */
#ifndef FERRY_IO_PRIVATE_WRITER_H
#define FERRY_IO_PRIVATE_WRITER_H

#include "common/arena.h"
#include "names.h"
#include "out.h"
#include "storage.h"

#include <ferry/io.h>

struct ferry__out_array {
    ferry_io_entry entry; /* its strings and dims belong to the arena */
    enum ferry__storage storage;
    ferry_dtype alike; /* a dtype with the element size of the file */
    uint64_t given;    /* bytes of data in the entry's dtype */
    uint64_t bytes;    /* bytes in the file; a diff has the same dtype and size */
    uint64_t place;    /* for the format's code: the offset in the file */
    uint64_t mark;     /* for the format's code */
    const char *path;  /* its path in the source file of the same format; NULL: unknown */
    struct ferry__out_array *next;
};

struct ferry__out_metadata {
    const char *key, *value;
    struct ferry__out_metadata *next;
};

struct ferry__io_attribute; /* declared in attributes.h */

/*
 * The writing functions of a format. Every entry except can_hold may be NULL; NULL then means that
 * there is nothing to do.
 */
struct ferry__io_writer_ops {
    bool needs_plan; /* begin requires all arrays to be declared */
    bool single;     /* exactly one array */
    bool unique;     /* names of arrays are unique */
    bool named;      /* the temporary file needs a name */
    /* Whether the format can store elements in a type other than their dtype. NULL: it cannot. */
    bool (*can_store)(enum ferry__storage storage);
    /* The reason why the format cannot hold the array; NULL: it can hold it. */
    const char *(*can_hold)(const ferry_io_writer *w, const ferry_io_entry *entry);
    /* Whether the format can hold that string of metadata. NULL: it cannot. */
    bool (*takes_metadata)(const ferry_io_writer *w, const char *key, const char *value);
    /*
     * Keeps the net's definition, without a copy if it is lent. NULL: the format cannot hold one.
     */
    int (*define)(ferry_io_writer *w, const void *bytes, size_t size, char *lender);
    /*
     * Collects the groups and arrays that the file will have, for lookups. NULL: the format has no
     * attributes.
     */
    int (*plan_objects)(ferry_io_writer *w);
    bool (*has_object)(const ferry_io_writer *w, const char *path);
    /* Called before the first array; with needs_plan, all arrays are declared. */
    int (*begin)(ferry_io_writer *w);
    /* Called before an array's data, before its diff, and after both. */
    int (*array)(ferry_io_writer *w, struct ferry__out_array *array);
    int (*diff)(ferry_io_writer *w, struct ferry__out_array *array);
    int (*end)(ferry_io_writer *w, struct ferry__out_array *array);
    /* Writes values in native byte order. NULL: values are appended in little-endian order. */
    int (*values)(ferry_io_writer *w, struct ferry__out_array *array, const void *values,
                  size_t size);
    /* Called after the last array; frees w->state, as discard does. */
    int (*finish)(ferry_io_writer *w);
    void (*discard)(ferry_io_writer *w);
};

extern const struct ferry__io_writer_ops ferry__caffe_writer;
extern const struct ferry__io_writer_ops ferry__blobproto_writer;
extern const struct ferry__io_writer_ops ferry__hdf5_writer; /* defined if ferry is built with
                                                              * libhdf5 */
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
    const struct ferry__io_attribute *attributes; /* the attributes of another open file; NULL:
                                                   * none */
    const char *attributes_path;                  /* the path of that file */
    ferry_io_layout layout;                       /* the layout of an HDF5 file */
    bool layout_chosen;                           /* set by the caller */
    struct ferry__names objects;                  /* the paths of groups and arrays, once planned */
    struct {
        const unsigned char *bytes; /* in the arena, or lent; NULL: there is no definition */
        size_t size;
        char *lender;                 /* the path of the file that owns the bytes, blobs
                                       * included; NULL: not lent */
        const unsigned char *at;      /* the next byte to write */
        uint32_t blobs;               /* the field of the blobs of its last layer with blobs */
    } definition;                     /* the definition of a net */
    bool declared;                    /* the caller has declared all arrays */
    bool begun;                       /* begin was called: the plan is final */
    struct ferry__out_array *current; /* the array that receives the next values; NULL: no array is
                                       * left */
    bool in_diff;
    float *row;    /* the values of a row of integers, up to now (rows.h) */
    uint64_t left; /* remaining bytes of its data or of its diff */
    int spool;     /* a file that holds values until the plan is complete; −1: unused */
    uint64_t spooled;
    int failed; /* the first error, after which the file cannot be completed */
    char why[256]; /* its message; "" before */
};

/* Chooses the type in which an array is stored, `name` or its dtype, and its size in the file. */
void ferry__writer_set_storage(const ferry_io_writer *w, struct ferry__out_array *array,
                               const char *name);
/* Stores values of the current array, `size` bytes of its dtype. */
int ferry__writer_put(ferry_io_writer *w, const void *values, size_t size);

/* Reports an array that the format cannot hold: FERRY_EUNSUPPORTED, with its name. */
int ferry__io_cannot_hold(const ferry_io_writer *w, const char *name, const char *why);

#endif
