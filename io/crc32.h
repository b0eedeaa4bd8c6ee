/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_IO_CRC32_H
#define FERRY_IO_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of zip files, continued from the checksum of the preceding bytes; starts with 0. */
uint32_t ferry__crc32(uint32_t crc, const void *bytes, size_t size);

#endif
