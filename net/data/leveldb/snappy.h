/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoder of Snappy's compressed format (format_description.txt of its sources). */
#ifndef FERRY_NET_DATA_LEVELDB_SNAPPY_H
#define FERRY_NET_DATA_LEVELDB_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The decoded size; false if the header is damaged, or if `size` bytes cannot decode to that many.
 */
bool ferry__snappy_length(const void *bytes, size_t size, size_t *out);

/*
 * Decodes into `out`, which has exactly that size. False if the bytes are damaged; `out` is then
 * undefined.
 */
bool ferry__snappy_expand(const void *bytes, size_t size, unsigned char *out, size_t length);

#endif
