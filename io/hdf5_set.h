/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a dataset once its header was read and checked, and reading its values.
 */
#ifndef FERRY_IO_HDF5_SET_H
#define FERRY_IO_HDF5_SET_H

#include "hdf5_filter.h"
#include "hdf5_lib.h"
#include "reader.h"

/* Where the values are. */
enum ferry__hdf5_place {
    FERRY__HDF5_PIECE,   /* one piece of the file */
    FERRY__HDF5_NOWHERE, /* never written: all are the fill value */
    FERRY__HDF5_COMPACT, /* in the dataset's header */
    FERRY__HDF5_CHUNKS,  /* each through the filters */
    FERRY__HDF5_LIBRARY  /* chunks through filters that only libhdf5 can undo */
};

struct ferry__hdf5_set {
    const char *path;
    struct ferry__hdf5_element element;
    int rank;
    const int64_t *shape;
    int64_t count;
    enum ferry__hdf5_place place;
    haddr_t offset; /* of a PIECE */
    uint64_t stored;
    const char *unreadable; /* NULL: it can be read */
    int64_t *chunk;         /* dims of a chunk */
    bool plain_edges;       /* chunks that stick out over the edge went through no filter */
    struct ferry__hdf5_filters filters;
    unsigned char fill[8]; /* one element, as stored but native */
};

/*
 * Reads and checks a dataset's header; *out and all it points to are the arena's. An element type,
 * filter or place that ferry cannot read is no error: out->unreadable says which. Inside enter and leave.
 */
int ferry__hdf5_set_open(struct ferry_io *io, const char *path, hid_t id,
                         struct ferry__hdf5_set **out);

/* Values that were decoded and may be wanted again: a stretch of one dataset, row-major. */
struct ferry__hdf5_window {
    const struct ferry__hdf5_set *of; /* NULL: none */
    int64_t start, count;
    unsigned char *bytes; /* in memory, or else */
    int fd;               /* in a file without a name; −1 */
};

/* Elements start … start + count − 1, as stored but native. Inside enter and leave. */
int ferry__hdf5_set_read(struct ferry_io *io, hid_t file, struct ferry__hdf5_window *window,
                         const struct ferry__hdf5_set *set, int64_t start, int64_t count,
                         void *out);

/*
 * Has libhdf5 find every chunk, and read those that only it can undo; what of it is an error will be one
 * again where values are read, so only crashes count. Inside enter and leave.
 */
void ferry__hdf5_set_try(struct ferry_io *io, hid_t id, const struct ferry__hdf5_set *set);

/* Lets go of what the window holds. */
void ferry__hdf5_window_clear(struct ferry__hdf5_window *window);

/* An error about a dataset, with libhdf5's own words behind it. */
int ferry__hdf5_fail(const struct ferry_io *io, int code, const char *path, const char *what);

#endif
