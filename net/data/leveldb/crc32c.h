/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_NET_DATA_LEVELDB_CRC32C_H
#define FERRY_NET_DATA_LEVELDB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * CRC-32C (Castagnoli) of bytes, continued from the checksum `before` of the preceding bytes, 0 at
 * first. Callable from any thread.
 */
uint32_t ferry__crc32c(uint32_t before, const void *bytes, size_t size);

/*
 * Masks a checksum as LevelDB stores it, because the stored checksum is part of other checksummed
 * bytes.
 */
uint32_t ferry__crc32c_mask(uint32_t crc);

#endif
