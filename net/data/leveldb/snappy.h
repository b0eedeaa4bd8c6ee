/* SPDX-License-Identifier: BSD-2-Clause */
/* Snappy's compressed format (format_description.txt of its sources), read. */
#ifndef FERRY_NET_DATA_LEVELDB_SNAPPY_H
#define FERRY_NET_DATA_LEVELDB_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes will come out; false, where the head is damaged, or so many cannot come of `size` bytes. */
bool ferry__snappy_length(const void *bytes, size_t size, size_t *out);

/* Fills `out`, which has exactly that length. False, where the bytes are damaged; `out` is then undefined. */
bool ferry__snappy_expand(const void *bytes, size_t size, unsigned char *out, size_t length);

#endif
