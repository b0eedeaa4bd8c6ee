/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chunk that is too large for memory once its filters are undone: what it was compressed from goes
 * to a file without a name, and its elements are put together from there.
 */
#ifndef FERRY_IO_HDF5_LARGE_H
#define FERRY_IO_HDF5_LARGE_H

#include "hdf5_set.h"
#include "scratch.h"

struct ferry__hdf5_large {
    const struct ferry_io *io;
    const struct ferry__hdf5_set *set;
    int64_t elements;
    const unsigned char *bytes; /* as they were before they were compressed, if nothing did that */
    struct ferry__scratch scratch;
    bool shuffled;
};

/*
 * Takes a chunk as it is stored, which stays the caller's until the end. FERRY_EFORMAT where it is
 * damaged, FERRY_EUNSUPPORTED where its filters cannot be undone so; it is to be ended in any case.
 */
int ferry__hdf5_large_begin(struct ferry__hdf5_large *self, const struct ferry_io *io,
                            const struct ferry__hdf5_set *set, uint32_t mask,
                            const unsigned char *raw, uint64_t raw_size);

/* Elements that are read at a time, at most. */
#define FERRY__HDF5_LARGE_PIECE 65536

/* Elements first … first + n − 1, row-major in the chunk, in the file's byte order. */
int ferry__hdf5_large_read(const struct ferry__hdf5_large *self, int64_t first, int64_t n,
                           unsigned char *out);

void ferry__hdf5_large_end(struct ferry__hdf5_large *self);

/* FERRY_EUNSUPPORTED: it would take as much memory as the chunk. */
int ferry__hdf5_large_refuse(const struct ferry_io *io, const struct ferry__hdf5_set *set);

#endif
