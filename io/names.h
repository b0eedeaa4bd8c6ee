/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table from names to array indices. */
#ifndef FERRY_IO_NAMES_H
#define FERRY_IO_NAMES_H

#include <stdint.h>

struct ferry__names {
    struct ferry__names_slot *slots;
    uint64_t size, used;
};

/* The number stored with the name; −1 if there is none. */
int64_t ferry__names_find(const struct ferry__names *names, const char *name);

/*
 * Adds a name unless it is present; the string belongs to the caller and must outlive the table.
 * Returns the number stored before the call, −1 if there was none; −2 without memory.
 */
int64_t ferry__names_add(struct ferry__names *names, const char *name, int64_t number);

void ferry__names_free(struct ferry__names *names);

#endif
