/* SPDX-License-Identifier: BSD-2-Clause */
/* FNV-1a of Fowler, Noll and Vo, 64 bits. It detects accidental damage, not an attack. */
#ifndef FERRY_COMMON_HASH_H
#define FERRY_COMMON_HASH_H

#include <stdint.h>

/* The hash of no bytes. */
#define FERRY__HASH UINT64_C(0xcbf29ce484222325)

/* Continues `hash` with further bytes: a text has the same hash in pieces of any size. */
static inline uint64_t ferry__hash(uint64_t hash, const void *bytes, uint64_t n)
{
    const unsigned char *at = bytes;

    for (; n > 0; n--)
        hash = (hash ^ *at++) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
