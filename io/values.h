/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the values of an array lie in a file, and how to get them out: native, byte-swapped,
 * column-major, or scattered over a message.
 */
#ifndef FERRY_IO_VALUES_H
#define FERRY_IO_VALUES_H

#include "file_map.h"
#include "storage.h"

enum ferry__encoding {
    FERRY__VALUES_NONE = 0,
    FERRY__VALUES_PLAIN, /* one after the other in `bytes` */
    FERRY__VALUES_WIRE,  /* `bytes` is a message that repeats `field`, packed or not */
    FERRY__VALUES_OWN    /* the format's reader knows how to get at them */
};

struct ferry__values {
    const unsigned char *bytes;
    uint64_t size;
    ferry_dtype dtype;           /* that they are read as */
    enum ferry__storage storage; /* and how they lie there */
    enum ferry__encoding encoding;
    uint32_t field;
    bool swap;    /* not this machine's byte order */
    bool fortran; /* column-major */
};

/*
 * The product of the dims, 1 for none, such that `size` bytes for each fit into an int64_t even
 * with the dims that are 0 left out; negative: FERRY_EINVAL for a negative dim, FERRY_EOVERFLOW.
 * Sets no message.
 */
int64_t ferry__io_count(int rank, const int64_t *shape, size_t size);

/* Bytes of an element in the file. */
static inline size_t ferry__values_element(const struct ferry__values *v)
{
    return ferry__storage_size(v->storage, v->dtype);
}

/* Whether the bytes can be a blob's as they are. */
bool ferry__values_adoptable(const struct ferry__values *v);

/* Elements start … start + count − 1 in row-major order, as stored but native. The range was checked. */
int ferry__values_read(const struct ferry__io_file *file, const struct ferry__values *v, int rank,
                       const int64_t *shape, int64_t start, int64_t count, void *out);

/* Reverses the bytes of `count` elements of `size` bytes. */
void ferry__swap_bytes(void *values, int64_t count, size_t size);

/* 1 on a machine whose byte order is not that of the formats. */
static inline bool ferry__big_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 0;
}

#endif
