/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf's variable-length integers.
 */
#ifndef FERRY_COMMON_VARINT_H
#define FERRY_COMMON_VARINT_H

#include <stddef.h>
#include <stdint.h>

/* Reads one from *at, which moves on success only, to before `end`. NULL, or the fault. */
static inline const char *ferry__take_varint(const unsigned char **at, const unsigned char *end,
                                             uint64_t *out)
{
    const unsigned char *p = *at;
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == end)
            return "a varint runs past the end";
        if (shift == 63 && *p > 1)
            return "a varint has more than 64 bits";
        value |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *at = p;
            *out = value;
            return NULL;
        }
    }
    return "a varint has more than 10 bytes";
}

#endif
