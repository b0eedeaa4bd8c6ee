/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NumPy's array header, also inside a .npz.
 */
#ifndef FERRY_IO_NPY_H
#define FERRY_IO_NPY_H

#include "values.h"

/* The source of a header: a file, or a member of one. */
struct ferry__npy_source {
    const char *path;   /* the path, for messages */
    const char *member; /* the member's name; "" for a file of its own */
    const unsigned char *bytes;
    uint64_t size;   /* the number of bytes available, at least those of the header */
    uint64_t offset; /* the offset of bytes[0] in the file, for messages */
};

struct ferry__npy {
    ferry_dtype dtype;
    enum ferry__storage storage;
    char descr[64];   /* the type as in the file; for a structured type its beginning */
    uint64_t element; /* the size of an element; 0: unknown */
    bool swap, fortran;
    int rank;
    int64_t shape[FERRY_MAX_AXES];
    int64_t count;
    uint64_t header_size; /* the offset of the values */
};

/* Whether the bytes begin with NumPy's magic number. */
bool ferry__npy_magic(const unsigned char *bytes, uint64_t size);

/*
 * The size of the whole header, from its first bytes (up to 12 are examined): FERRY_EFORMAT if
 * there are too few.
 */
int ferry__npy_header_size(const struct ferry__npy_source *source, uint64_t *out);

/*
 * Reads a header. An element type that ferry lacks is not an error but becomes
 * FERRY__STORED_OTHERWISE. FERRY_EFORMAT, FERRY_EOVERFLOW; FERRY_EUNSUPPORTED for more axes than
 * ferry supports.
 */
int ferry__npy_parse(const struct ferry__npy_source *source, struct ferry__npy *out);

/* Whether `size` is the size of the values in the header. */
bool ferry__npy_fits(const struct ferry__npy *npy, uint64_t size);

/* The reason why values of an unsupported type cannot be read; a static string. */
const char *ferry__npy_unreadable(const struct ferry__npy *npy);

#endif
