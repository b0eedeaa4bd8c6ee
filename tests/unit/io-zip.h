/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_IO_ZIP_H
#define FERRY_TEST_IO_ZIP_H

#include "fixture.h"

#include <string.h>

/* Builds zip archives for the tests that read them. */

struct member {
    const char *name;
    const void *bytes;
    size_t size;
};

struct zip {
    unsigned char at[8192];
    size_t size;
};

static inline void zip_put(struct zip *zip, const void *bytes, size_t size)
{
    CU_ASSERT_FATAL(zip->size + size <= sizeof(zip->at));
    memcpy(zip->at + zip->size, bytes, size);
    zip->size += size;
}

static inline void zip_put_number(struct zip *zip, uint32_t value, int size)
{
    for (int i = 0; i < size; i++)
        zip_put(zip, &(unsigned char){ (unsigned char)(value >> 8 * i) }, 1);
}

static inline uint32_t zip_crc(const unsigned char *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < 8 * size; i++)
        crc = crc >> 1 ^ (0xedb88320u & (0u - ((crc ^ bytes[i / 8] >> i % 8) & 1)));
    return ~crc;
}

/* Version and flags, stored, no time; the fields that the local header and the directory share. */
static inline void zip_put_member(struct zip *zip, const struct member *m)
{
    zip_put(zip, "\0\0\0\0\0\0\0\0\0\0", 10);
    zip_put_number(zip, zip_crc(m->bytes, m->size), 4);
    zip_put_number(zip, (uint32_t)m->size, 4);
    zip_put_number(zip, (uint32_t)m->size, 4);
    zip_put_number(zip, (uint32_t)strlen(m->name), 4);
}

/* An archive of stored members. */
static inline void make_zip(struct zip *zip, const struct member *members, int n)
{
    size_t places[8], directory;

    CU_ASSERT_FATAL(n <= 8);
    zip->size = 0;
    for (int i = 0; i < n; i++) {
        places[i] = zip->size;
        zip_put(zip, "PK\3\4", 4);
        zip_put_member(zip, &members[i]);
        zip_put(zip, members[i].name, strlen(members[i].name));
        zip_put(zip, members[i].bytes, members[i].size);
    }
    directory = zip->size;
    for (int i = 0; i < n; i++) {
        zip_put(zip, "PK\1\2\0\0", 6);
        zip_put_member(zip, &members[i]);
        zip_put(zip, "\0\0\0\0\0\0\0\0\0\0", 10);
        zip_put_number(zip, (uint32_t)places[i], 4);
        zip_put(zip, members[i].name, strlen(members[i].name));
    }
    zip_put(zip, "PK\5\6\0\0\0\0", 8);
    zip_put_number(zip, (uint32_t)n, 2);
    zip_put_number(zip, (uint32_t)n, 2);
    zip_put_number(zip, (uint32_t)(zip->size - 12 - directory), 4);
    zip_put_number(zip, (uint32_t)directory, 4);
    zip_put_number(zip, 0, 2);
}

#endif
