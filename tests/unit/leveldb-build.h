/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_LEVELDB_BUILD_H
#define FERRY_TEST_LEVELDB_BUILD_H

#include "io-build.h"

#include <stdint.h>
#include <stdio.h>

/* Builds LevelDB's files for the tests that read them. */

/* The contents of a file under construction. */
struct bytes {
    unsigned char *at;
    size_t size;
};

/* The CRC-32C of the bytes after others, without inversions. */
static inline uint32_t crc_after(uint32_t crc, const unsigned char *bytes, size_t count)
{
    static uint32_t remainders[256];

    for (uint32_t i = 0; !remainders[255] && i < 256; i++) {
        remainders[i] = i;
        for (int bit = 0; bit < 8; bit++)
            remainders[i] =
                remainders[i] & 1 ? remainders[i] >> 1 ^ UINT32_C(0x82f63b78) : remainders[i] >> 1;
    }
    for (size_t i = 0; i < count; i++)
        crc = crc >> 8 ^ remainders[(crc ^ bytes[i]) & 255];
    return crc;
}

/* Stores the masked checksum of the type of a log's part and its bytes, or of a block. */
static inline void put_checksum(unsigned char *to, const unsigned char *first, size_t n,
                                const unsigned char *second, size_t m)
{
    uint32_t crc = ~crc_after(crc_after(UINT32_MAX, first, n), second, m);

    crc = ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(crc >> (8 * i));
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, f), size);
    CU_ASSERT_EQUAL(fclose(f), 0);
}

#endif
