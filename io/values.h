/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The storage of an array's values in a file, and reading them: native, byte-swapped, column-major,
 * or spread over a message.
 */
#ifndef FERRY_IO_VALUES_H
#define FERRY_IO_VALUES_H

#include "file_map.h"
#include "rows.h"
#include "storage.h"

enum ferry__encoding {
    FERRY__VALUES_NONE = 0,
    FERRY__VALUES_PLAIN, /* the values are consecutive in `bytes` */
    FERRY__VALUES_WIRE,  /* `bytes` is a message in which `field` repeats, packed or not */
    FERRY__VALUES_ROWS,  /* rows of integers and their magnitudes, consecutive: rows.h */
    FERRY__VALUES_OWN    /* the format's own reader reads them */
};

struct ferry__values {
    const unsigned char *bytes;
    uint64_t size;
    ferry_dtype dtype;           /* the dtype that the values are read as */
    enum ferry__storage storage; /* the type that the values are stored as */
    enum ferry__encoding encoding;
    uint32_t field;
    bool swap;    /* not in this machine's byte order */
    bool fortran; /* the values are column-major */
};

/*
 * The product of the dims, 1 without dims. FERRY_EOVERFLOW if `size` times the product of the
 * nonzero dims does not fit into an int64_t; FERRY_EINVAL for a negative dim. Sets no message.
 */
int64_t ferry__io_count(int rank, const int64_t *shape, size_t size);

/* The size of an element in the file, in bytes. */
static inline size_t ferry__values_element(const struct ferry__values *v)
{
    return ferry__storage_size(v->storage, v->dtype);
}

/* Whether a blob can adopt the bytes unchanged. */
bool ferry__values_adoptable(const struct ferry__values *v);

/*
 * Reads elements start … start + count − 1 in row-major order, in their storage type and native
 * byte order. The range is valid.
 */
int ferry__values_read(const struct ferry__io_file *file, const struct ferry__values *v, int rank,
                       const int64_t *shape, int64_t start, int64_t count, void *out);

/* The place of values with encoding FERRY__VALUES_ROWS. */
struct ferry__rows ferry__values_rows(const struct ferry__io_file *file,
                                      const struct ferry__values *v, int64_t rows);

/* Reverses the bytes of `count` elements of `size` bytes. */
void ferry__swap_bytes(void *values, int64_t count, size_t size);

/* 1 if this machine is big-endian; the formats are little-endian. */
static inline bool ferry__big_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 0;
}

#endif
