/* SPDX-License-Identifier: BSD-2-Clause */
/* A table from names to numbers: nets have tens of thousands of blobs and layers. */
#ifndef FERRY_NET_MODEL_NAMES_H
#define FERRY_NET_MODEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct ferry__name {
    const char *name; /* borrowed; NULL: a free place */
    int number;
};

/* Zero is an empty table. */
struct ferry__names {
    struct ferry__name *at;
    size_t room, count;
};

/* The number of a name; −1: it has none. */
int ferry__names_get(const struct ferry__names *names, const char *name);

/* Gives a name its number, or with `keep` leaves the one that it has. FERRY_ENOMEM. */
int ferry__names_set(struct ferry__names *names, const char *name, int number, bool keep);

void ferry__names_end(struct ferry__names *names);

#endif
