/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/sharers.h"

#include <stdlib.h>

static struct ferry__sharer *find(struct ferry__sharers *list, const void *who)
{
    unsigned i;

    for (i = 0; i < ferry__sharers_count(list); i++)
        if (list->at[i].who == who)
            return &list->at[i];
    return NULL;
}

static bool make_room(struct ferry__sharers **list)
{
    struct ferry__sharers *before = *list, *made;
    unsigned room = before ? 2 * before->room : 2;

    if (before && before->count < before->room)
        return true;
    made = realloc(before, sizeof *made + room * sizeof made->at[0]);
    if (!made)
        return false;
    if (!before)
        made->count = 0;
    made->room = room;
    *list = made;
    return true;
}

bool ferry__sharers_put(struct ferry__sharers **list, const void *who, size_t end)
{
    struct ferry__sharer *known = find(*list, who);

    if (!known) {
        if (!make_room(list))
            return false;
        known = &(*list)->at[(*list)->count++];
        known->who = who;
    }
    known->end = end;
    return true;
}

void ferry__sharers_move(struct ferry__sharers *list, const void *who, size_t end)
{
    struct ferry__sharer *known = find(list, who);

    if (known)
        known->end = end;
}

void ferry__sharers_drop(struct ferry__sharers *list, const void *who)
{
    struct ferry__sharer *known = find(list, who);

    if (known)
        *known = list->at[--list->count];
}

size_t ferry__sharers_end(const struct ferry__sharers *list)
{
    size_t end = 0;
    unsigned i;

    for (i = 0; i < ferry__sharers_count(list); i++)
        if (list->at[i].end > end)
            end = list->at[i].end;
    return end;
}
