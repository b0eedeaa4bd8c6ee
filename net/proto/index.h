/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table from names to numbers. */
#ifndef FERRY_NET_PROTO_INDEX_H
#define FERRY_NET_PROTO_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct ferry__index_entry {
    const char *name; /* borrowed; NULL: free */
    int64_t number;
};

/* A table; a zeroed structure is empty. */
struct ferry__index {
    struct ferry__index_entry *entries;
    size_t count, capacity;
};

/* The name's number; `missing` if it has none. */
int64_t ferry__index_get(const struct ferry__index *index, const char *name, int64_t missing);

/* Sets a name's number; the name must outlive the table. FERRY_ENOMEM. */
int ferry__index_set(struct ferry__index *index, const char *name, int64_t number);

void ferry__index_free(struct ferry__index *index);

#endif
