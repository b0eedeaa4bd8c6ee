/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash of names, to find arrays by.
 */
#ifndef FERRY_IO_NAMES_H
#define FERRY_IO_NAMES_H

#include <stdint.h>

struct ferry__names {
    struct ferry__names_slot *slots;
    uint64_t size, used;
};

/* The number that was added with the name; −1 if there is none. */
int64_t ferry__names_find(const struct ferry__names *names, const char *name);

/*
 * Adds a name, which stays the caller's and has to live on, unless it is there already. Returns
 * what find would have returned before; −2 without memory.
 */
int64_t ferry__names_add(struct ferry__names *names, const char *name, int64_t number);

void ferry__names_free(struct ferry__names *names);

#endif
