/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far each of the blobs that share a memory uses it, so that the bytes in use are what the
 * furthest of them needs. A list is made by the first share; a memory that one blob alone has, has
 * none. Under the memory's lock.
 */
#ifndef FERRY_CORE_SHARERS_H
#define FERRY_CORE_SHARERS_H

#include <stdbool.h>
#include <stddef.h>

struct ferry__sharer {
    const void *who; /* a half of a blob, by its address */
    size_t end;      /* bytes from the memory's start */
};

struct ferry__sharers {
    unsigned count, room;
    struct ferry__sharer at[];
};

/* Notes how far `who` reaches. False, and nothing noted, when memory is short. */
bool ferry__sharers_put(struct ferry__sharers **list, const void *who, size_t end);

/* As put, for one that may not be there, which then changes nothing; it cannot fail. */
void ferry__sharers_move(struct ferry__sharers *list, const void *who, size_t end);

void ferry__sharers_drop(struct ferry__sharers *list, const void *who);

/* The furthest end. */
size_t ferry__sharers_end(const struct ferry__sharers *list);

/* How many there are; the list may be NULL. */
static inline unsigned ferry__sharers_count(const struct ferry__sharers *list)
{
    return list ? list->count : 0;
}

#endif
