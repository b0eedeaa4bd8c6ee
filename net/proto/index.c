/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/proto/index.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/*
 * The entry of a name, or the free entry where it would be inserted. The table always has a free
 * entry.
 */
static struct ferry__index_entry *find(const struct ferry__index *index, const char *name)
{
    uint64_t hash = 14695981039346656037u; /* the offset basis of FNV-1a */
    size_t at;

    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    at = (size_t)hash & (index->capacity - 1);
    while (index->entries[at].name && strcmp(index->entries[at].name, name) != 0)
        at = (at + 1) & (index->capacity - 1);
    return &index->entries[at];
}

int64_t ferry__index_get(const struct ferry__index *index, const char *name, int64_t missing)
{
    const struct ferry__index_entry *entry = index->capacity ? find(index, name) : NULL;

    return entry && entry->name ? entry->number : missing;
}

static int grow(struct ferry__index *index)
{
    struct ferry__index larger = { .count = index->count,
                                   .capacity = index->capacity ? 2 * index->capacity : 64 };

    larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
    if (!larger.entries)
        return ferry_error_set(FERRY_ENOMEM, "a table of %zu names: out of memory",
                               larger.capacity);
    for (size_t i = 0; i < index->capacity; i++)
        if (index->entries[i].name)
            *find(&larger, index->entries[i].name) = index->entries[i];
    free(index->entries);
    *index = larger;
    return FERRY_OK;
}

int ferry__index_set(struct ferry__index *index, const char *name, int64_t number)
{
    struct ferry__index_entry *entry;
    int err = index->count * 2 < index->capacity ? FERRY_OK : grow(index);

    if (err)
        return err;
    entry = find(index, name);
    index->count += !entry->name;
    entry->name = name;
    entry->number = number;
    return FERRY_OK;
}

void ferry__index_free(struct ferry__index *index)
{
    free(index->entries);
    *index = (struct ferry__index){ 0 };
}
