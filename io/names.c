/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <stdlib.h>
#include <string.h>

struct ferry__names_slot {
    const char *name; /* NULL: the slot is empty */
    int64_t number;
};

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 1469598103934665603u; /* the offset basis of FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The slot of the name, or the empty slot where it would be inserted. */
static struct ferry__names_slot *slot_of(const struct ferry__names *names, const char *name)
{
    uint64_t mask = names->size - 1, i = hash_of(name) & mask;

    while (names->slots[i].name && strcmp(names->slots[i].name, name) != 0)
        i = (i + 1) & mask;
    return &names->slots[i];
}

int64_t ferry__names_find(const struct ferry__names *names, const char *name)
{
    const struct ferry__names_slot *slot = names->size ? slot_of(names, name) : NULL;

    return slot && slot->name ? slot->number : -1;
}

/* Keeps the table at most half full. */
static int grow(struct ferry__names *names)
{
    struct ferry__names larger = { NULL, names->size ? names->size * 2 : 64, names->used };

    if (names->used * 2 < names->size)
        return 0;
    larger.slots = calloc(larger.size, sizeof(*larger.slots));
    if (!larger.slots)
        return -1;
    for (uint64_t i = 0; i < names->size; i++)
        if (names->slots[i].name)
            *slot_of(&larger, names->slots[i].name) = names->slots[i];
    free(names->slots);
    *names = larger;
    return 0;
}

int64_t ferry__names_add(struct ferry__names *names, const char *name, int64_t number)
{
    struct ferry__names_slot *slot;

    if (grow(names) != 0)
        return -2;
    slot = slot_of(names, name);
    if (slot->name)
        return slot->number;
    slot->name = name;
    slot->number = number;
    names->used++;
    return -1;
}

void ferry__names_free(struct ferry__names *names)
{
    free(names->slots);
}
