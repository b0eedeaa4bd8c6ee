/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and strings of LevelDB's files: little-endian, or varints of 7 bits per byte. */
#ifndef FERRY_NET_DATA_LEVELDB_BYTES_H
#define FERRY_NET_DATA_LEVELDB_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The remaining bytes of a buffer. */
struct ferry__span {
    const unsigned char *at;
    size_t left;
};

static inline uint64_t ferry__le(const unsigned char *p, int bytes)
{
    uint64_t value = 0;

    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

/*
 * The functions below consume bytes from the front. They return false if there are too few bytes,
 * or if the value of a varint exceeds `most`.
 */

static inline bool ferry__span_take(struct ferry__span *s, uint64_t n, const unsigned char **out)
{
    if (n > s->left)
        return false;
    *out = s->at;
    s->at += n;
    s->left -= (size_t)n;
    return true;
}

static inline bool ferry__span_varint(struct ferry__span *s, uint64_t most, uint64_t *out)
{
    const unsigned char *byte;
    uint64_t value = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        if (!ferry__span_take(s, 1, &byte) || (shift == 63 && *byte > 1))
            return false;
        value |= (uint64_t)(*byte & 127) << shift;
        if (*byte < 128) {
            *out = value;
            return value <= most;
        }
    }
    return false;
}

/* Takes a length followed by that many bytes. */
static inline bool ferry__span_string(struct ferry__span *s, struct ferry__span *out)
{
    uint64_t size;

    if (!ferry__span_varint(s, UINT32_MAX, &size) || !ferry__span_take(s, size, &out->at))
        return false;
    out->left = (size_t)size;
    return true;
}

#endif
