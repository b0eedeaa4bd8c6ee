/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NumPy's array header, also inside a .npz.
 */
#ifndef FERRY_IO_NPY_H
#define FERRY_IO_NPY_H

#include "values.h"

/* Where a header is read from: a file, or a member of one. */
struct ferry__npy_source {
    const char *path;   /* for messages */
    const char *member; /* "" in a file of its own */
    const unsigned char *bytes;
    uint64_t size;   /* of the bytes that are at hand, at least the header's */
    uint64_t offset; /* of bytes[0] in the file, for messages */
};

struct ferry__npy {
    ferry_dtype dtype;
    enum ferry__storage storage;
    char descr[64];   /* as the file has it; of a structured type its beginning */
    uint64_t element; /* bytes of one; 0: it does not say */
    bool swap, fortran;
    int rank;
    int64_t shape[FERRY_MAX_AXES];
    int64_t count;
    uint64_t header_size; /* the values begin here */
};

/* Whether the bytes begin as an array does. */
bool ferry__npy_magic(const unsigned char *bytes, uint64_t size);

/*
 * The size of the whole header from its first bytes (up to 12 are looked at): FERRY_EFORMAT where
 * there are fewer than it needs.
 */
int ferry__npy_header_size(const struct ferry__npy_source *source, uint64_t *out);

/*
 * Reads a header. An element type that ferry does not have is FERRY__STORED_OTHERWISE, no error.
 * FERRY_EFORMAT, FERRY_EOVERFLOW; FERRY_EUNSUPPORTED for more axes than ferry has.
 */
int ferry__npy_parse(const struct ferry__npy_source *source, struct ferry__npy *out);

/* Whether `size` bytes of values are what the header says. */
bool ferry__npy_fits(const struct ferry__npy *npy, uint64_t size);

/* Why the values of a type that ferry does not have cannot be read; lives for ever. */
const char *ferry__npy_unreadable(const struct ferry__npy *npy);

#endif
