/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table from names to numbers: nets have tens of thousands of blobs and layers. */
#ifndef FERRY_NET_MODEL_NAMES_H
#define FERRY_NET_MODEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct ferry__name {
    const char *name; /* borrowed; NULL: a free slot */
    int number;
};

/* A table; a zeroed structure is empty. */
struct ferry__names {
    struct ferry__name *at;
    size_t room, count;
};

/* The number of a name; −1 if the table does not have it. */
int ferry__names_get(const struct ferry__names *names, const char *name);

/* Sets a name's number; with `keep` only if it has none. FERRY_ENOMEM. */
int ferry__names_set(struct ferry__names *names, const char *name, int number, bool keep);

void ferry__names_end(struct ferry__names *names);

#endif
