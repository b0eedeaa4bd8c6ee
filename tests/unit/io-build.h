/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_IO_BUILD_H
#define FERRY_TEST_IO_BUILD_H

#include "fixture.h"
#include "little.h"

#include <string.h>

/* Builds files for the tests that read them. */

/* A string literal without its NUL, and its size. */
#define BYTES(text) (text), sizeof(text) - 1

/* A protobuf message under construction. */
struct msg {
    unsigned char at[2048];
    size_t size;
};

static inline void put_raw(struct msg *m, const void *bytes, size_t size)
{
    CU_ASSERT_FATAL(m->size + size <= sizeof(m->at));
    memcpy(m->at + m->size, bytes, size);
    m->size += size;
}

static inline void put_number(struct msg *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        m->at[m->size++] = (unsigned char)(value | 0x80);
    m->at[m->size++] = (unsigned char)value;
}

static inline void put_varint(struct msg *m, unsigned field, uint64_t value)
{
    put_number(m, field << 3);
    put_number(m, value);
}

static inline void put_bytes(struct msg *m, unsigned field, const void *bytes, size_t size)
{
    put_number(m, field << 3 | 2);
    put_number(m, size);
    put_raw(m, bytes, size);
}

static inline void put_string(struct msg *m, unsigned field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

/* Elements of this machine, which become little-endian. */
static inline void put_values(struct msg *m, unsigned field, const void *values, size_t size,
                              size_t element)
{
    put_bytes(m, field, values, size);
    put_little(m->at + m->size - size, values, size, element);
}

/* A BlobProto of one axis: floats first, first + 1, … */
static inline void put_blob(struct msg *m, unsigned field, int n, float first)
{
    struct msg blob = { .size = 0 }, shape = { .size = 0 };
    float values[64];

    for (int i = 0; i < n; i++)
        values[i] = first + (float)i;
    put_values(&blob, 5, values, (size_t)n * sizeof(float), sizeof(float));
    put_varint(&shape, 1, (uint64_t)n);
    put_bytes(&blob, 7, shape.at, shape.size);
    put_bytes(m, field, blob.at, blob.size);
}

/*
 * A .npy of version `major`: a header, and values; with elements of 1 byte they are in the order
 * of the file.
 */
static inline size_t make_npy(unsigned char *to, int major, const char *header, const void *values,
                              size_t size, size_t element)
{
    size_t length = strlen(header), at = major == 1 ? 10 : 12;

    memcpy(to, "\x93NUMPY\0\0\0\0\0\0", 12);
    to[6] = (unsigned char)major;
    to[8] = (unsigned char)length;
    to[9] = (unsigned char)(length >> 8);
    memcpy(to + at, header, length);
    put_little(to + at + length, values, size, element);
    return at + length + size;
}

/* NumPy's header around a shape. */
#define SHAPED(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }"

/* A safetensors file: a header, and values, as in make_npy. */
static inline size_t make_safetensors(unsigned char *to, const char *header, const void *values,
                                      size_t size, size_t element)
{
    size_t length = strlen(header);

    memset(to, 0, 8);
    to[0] = (unsigned char)length;
    to[1] = (unsigned char)(length >> 8);
    memcpy(to + 8, header, length);
    put_little(to + 8 + length, values, size, element);
    return 8 + length + size;
}

#endif
