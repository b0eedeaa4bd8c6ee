/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32C of eight bytes at a time: table k has the checksums of a byte followed by k zeros
 * (Kounavis, Berry 2005, "slicing-by-8").
 */
#define _POSIX_C_SOURCE 200809L
#include "net/data/leveldb/crc32c.h"

#include <pthread.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* in the bit-reversed representation */

static uint32_t tables[8][256];

static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++)
            tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 255];
}

uint32_t ferry__crc32c(uint32_t before, const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *p = bytes;
    uint32_t crc = ~before;

    pthread_once(&once, make_tables);
    for (; size >= 8; size -= 8, p += 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^ tables[5][crc >> 16 & 255] ^
              tables[4][crc >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
              tables[0][p[7]];
    }
    for (; size; size--, p++)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
    return ~crc;
}

uint32_t ferry__crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}
