/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's queues: a list, and a hash table that recognises a handle before it is dereferenced.
 */
#include "sim.h"

#include <stdlib.h>

static struct sim_queue **bucket_of(const struct sim_queues *queues, const void *handle)
{
    uint64_t mixed = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);

    return &queues->buckets[(mixed >> 32) & (queues->room - 1)];
}

/* Doubles the capacity; if out of memory, the table is unchanged. */
static int grow(struct sim_queues *queues, struct sim_why *why)
{
    size_t room = queues->room ? queues->room * 2 : 16;
    struct sim_queue **buckets = calloc(room, sizeof(*buckets));

    if (!buckets)
        return sim_why_set(why, FERRY_ENOMEM, "out of memory for another queue");
    free(queues->buckets);
    queues->buckets = buckets;
    queues->room = room;
    for (struct sim_queue *queue = queues->first; queue; queue = queue->next) {
        struct sim_queue **bucket = bucket_of(queues, queue);

        queue->same_bucket = *bucket;
        *bucket = queue;
    }
    return 0;
}

int sim_queues_add(struct sim_queues *queues, struct sim_queue *queue, struct sim_why *why)
{
    struct sim_queue **bucket;
    int err = queues->count == queues->room ? grow(queues, why) : 0;

    if (err)
        return err;
    bucket = bucket_of(queues, queue);
    queue->same_bucket = *bucket;
    *bucket = queue;
    queue->number = ++queues->created;
    queue->next = queues->first;
    queue->link = &queues->first;
    if (queue->next)
        queue->next->link = &queue->next;
    queues->first = queue;
    queues->count++;
    return 0;
}

void sim_queues_remove(struct sim_queues *queues, struct sim_queue *queue)
{
    struct sim_queue **bucket = bucket_of(queues, queue);

    while (*bucket != queue)
        bucket = &(*bucket)->same_bucket;
    *bucket = queue->same_bucket;
    *queue->link = queue->next;
    if (queue->next)
        queue->next->link = queue->link;
    queues->count--;
    sim_shared.broken++;
}

struct sim_queue *sim_queues_at(const struct sim_queues *queues, const void *handle)
{
    struct sim_queue *queue = *bucket_of(queues, handle);

    while (queue && queue != handle)
        queue = queue->same_bucket;
    return queue;
}
