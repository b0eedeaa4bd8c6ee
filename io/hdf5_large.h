/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chunk that does not fit into memory once its filters are undone: its decompressed bytes go to
 * an unnamed file, and its elements are assembled from there.
 */
#ifndef FERRY_IO_HDF5_LARGE_H
#define FERRY_IO_HDF5_LARGE_H

#include "hdf5_set.h"
#include "scratch.h"

struct ferry__hdf5_large {
    const struct ferry_io *io;
    const struct ferry__hdf5_set *set;
    int64_t elements;
    const unsigned char *bytes; /* the decompressed bytes, if the chunk was not compressed */
    struct ferry__scratch scratch;
    bool shuffled;
};

/*
 * Takes a chunk as it is stored; the bytes belong to the caller and must live until the end.
 * FERRY_EFORMAT if it is damaged, FERRY_EUNSUPPORTED if its filters cannot be undone in this way.
 * Call end in any case.
 */
int ferry__hdf5_large_begin(struct ferry__hdf5_large *self, const struct ferry_io *io,
                            const struct ferry__hdf5_set *set, uint32_t mask,
                            const unsigned char *raw, uint64_t raw_size);

/* The maximum number of elements of one read. */
#define FERRY__HDF5_LARGE_PIECE 65536

/* Reads elements first … first + n − 1, row-major in the chunk, in the file's byte order. */
int ferry__hdf5_large_read(const struct ferry__hdf5_large *self, int64_t first, int64_t n,
                           unsigned char *out);

void ferry__hdf5_large_end(struct ferry__hdf5_large *self);

/*
 * Reports that the chunk is too large to read: it would require as much memory as it decodes to.
 * FERRY_EUNSUPPORTED.
 */
int ferry__hdf5_large_refuse(const struct ferry_io *io, const struct ferry__hdf5_set *set);

#endif
