/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys in LevelDB's files: the program's key, followed by 8 bytes with the number of the write and
 * its kind. They are ordered by the program's key, byte by byte, and then from the latest write of
 * a key to the earliest.
 */
#ifndef FERRY_NET_DATA_LEVELDB_KEY_H
#define FERRY_NET_DATA_LEVELDB_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FERRY__LEVELDB_DELETION = 0, FERRY__LEVELDB_VALUE = 1 };

struct ferry__leveldb_key {
    const unsigned char *at; /* the program's key */
    size_t size;
    uint64_t write; /* its number × 256 + its kind */
};

/* Negative, 0 or positive: the program's key of a is before, equal to, or after that of b. */
static inline int ferry__leveldb_compare_names(const struct ferry__leveldb_key *a,
                                               const struct ferry__leveldb_key *b)
{
    size_t n = a->size < b->size ? a->size : b->size;
    int order = n ? memcmp(a->at, b->at, n) : 0;

    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static inline int ferry__leveldb_compare(const struct ferry__leveldb_key *a,
                                         const struct ferry__leveldb_key *b)
{
    int order = ferry__leveldb_compare_names(a, b);

    return order ? order : (a->write < b->write) - (a->write > b->write);
}

#endif
