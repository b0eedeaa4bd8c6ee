/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc32.h"

#include <pthread.h>

/*
 * The tables process eight bytes at a time, one table for each byte: a byte at a time is slower
 * than the disk.
 */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        table[0][i] = crc;
    }
    for (int step = 1; step < 8; step++)
        for (int i = 0; i < 256; i++)
            table[step][i] = table[step - 1][i] >> 8 ^ table[0][table[step - 1][i] & 0xff];
}

static uint32_t load32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t ferry__crc32(uint32_t crc, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    pthread_once(&once, make_table);
    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint32_t low = crc ^ load32(at), high = load32(at + 4);

        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
              table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    while (size--)
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}
