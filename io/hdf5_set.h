/* SPDX-License-Identifier: BSD-2-Clause */
/* The description of a dataset from its checked header, and the reading of its values. */
#ifndef FERRY_IO_HDF5_SET_H
#define FERRY_IO_HDF5_SET_H

#include "hdf5_filter.h"
#include "hdf5_lib.h"
#include "reader.h"

/* The location of the values. */
enum ferry__hdf5_location {
    FERRY__HDF5_PIECE,     /* contiguous in the file */
    FERRY__HDF5_UNWRITTEN, /* never written: every element is the fill value */
    FERRY__HDF5_COMPACT,   /* in the dataset's header */
    FERRY__HDF5_CHUNKS,    /* chunks, each with filters */
    FERRY__HDF5_LIBRARY    /* chunks through filters that only libhdf5 can undo */
};

struct ferry__hdf5_set {
    const char *path;
    struct ferry__hdf5_element element;
    int rank;
    const int64_t *shape;
    int64_t count;
    enum ferry__hdf5_location location;
    haddr_t offset; /* for FERRY__HDF5_PIECE */
    uint64_t stored;
    const char *unreadable; /* the reason why it cannot be read; NULL: it can be read */
    int64_t *chunk;         /* the dims of a chunk */
    bool plain_edges;       /* partial chunks at the edge are stored without filters */
    struct ferry__hdf5_filters filters;
    unsigned char fill[8]; /* one element, native byte order */
};

/*
 * Reads and checks a dataset's header; *out and all that it points to belong to the arena. An
 * element type, filter or location that ferry cannot read is not an error: out->unreadable has the
 * reason. Called between enter and leave.
 */
int ferry__hdf5_set_open(struct ferry_io *io, const char *path, hid_t id,
                         struct ferry__hdf5_set **out);

/* A cache of decoded values: a contiguous range of one dataset, row-major. */
struct ferry__hdf5_window {
    const struct ferry__hdf5_set *of; /* the dataset; NULL: the window is empty */
    int64_t start, count;
    unsigned char *bytes; /* the values in memory; NULL: they are in the file `fd` */
    int fd;               /* an unnamed file; −1: none */
};

/* Reads elements start … start + count − 1 in native byte order. Called between enter and leave. */
int ferry__hdf5_set_read(struct ferry_io *io, hid_t file, struct ferry__hdf5_window *window,
                         const struct ferry__hdf5_set *set, int64_t start, int64_t count,
                         void *out);

/*
 * Makes libhdf5 look up every chunk, and read those that only it can decode. Errors are ignored,
 * since reading the values reports them again; only crashes matter. Called between enter and leave.
 */
void ferry__hdf5_set_try(struct ferry_io *io, hid_t id, const struct ferry__hdf5_set *set);

/* Frees the contents of the window. */
void ferry__hdf5_window_clear(struct ferry__hdf5_window *window);

/* Reports an error of a dataset, followed by libhdf5's own description. */
int ferry__hdf5_fail(const struct ferry_io *io, int code, const char *path, const char *what);

#endif
