/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/names.h"

#include "common/hash.h"

#include <ferry/status.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *name)
{
    uint64_t h = ferry__hash(FERRY__HASH, name, strlen(name));

    return h ^ (h >> 32);
}

/*
 * The slot of a name, or the free slot where it would be inserted; the capacity is a power of two
 * and the table is never full.
 */
static struct ferry__name *slot_of(const struct ferry__names *names, const char *name)
{
    size_t i = (size_t)hash(name) & (names->room - 1);

    while (names->at[i].name && strcmp(names->at[i].name, name) != 0)
        i = (i + 1) & (names->room - 1);
    return &names->at[i];
}

int ferry__names_get(const struct ferry__names *names, const char *name)
{
    const struct ferry__name *found = names->room ? slot_of(names, name) : NULL;

    return found && found->name ? found->number : -1;
}

static int grow(struct ferry__names *names)
{
    struct ferry__names larger = { .room = names->room ? 2 * names->room : 64 };
    size_t i;

    larger.count = names->count;
    larger.at = calloc(larger.room, sizeof *larger.at);
    if (!larger.at)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its names");
    for (i = 0; i < names->room; i++)
        if (names->at[i].name)
            *slot_of(&larger, names->at[i].name) = names->at[i];
    free(names->at);
    *names = larger;
    return 0;
}

int ferry__names_set(struct ferry__names *names, const char *name, int number, bool keep)
{
    struct ferry__name *slot;
    int err = 2 * names->count >= names->room ? grow(names) : 0;

    if (err)
        return err;
    slot = slot_of(names, name);
    if (slot->name && keep)
        return 0;
    names->count += !slot->name;
    *slot = (struct ferry__name){ name, number };
    return 0;
}

void ferry__names_end(struct ferry__names *names)
{
    free(names->at);
    *names = (struct ferry__names){ 0 };
}
