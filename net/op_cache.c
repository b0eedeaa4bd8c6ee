/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepared operations by whose and what they are, so that shapes that come back find theirs. Layers
 * that are alike have one each: it remembers the packed form of its own weights.
 */
#include "net/state.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* Sets of shapes for which operations are kept. */
#define KEPT_TURNS 8

#define BUCKETS 256

struct ferry__op_entry {
    struct ferry__op_entry *next;
    ferry_op op;
    int owner;
    ferry_device *device;
    ferry_operation *operation;
    uint64_t turn; /* the latest that asked for it */
};

struct ferry__op_cache {
    struct ferry__op_entry *bucket[BUCKETS];
    uint64_t turn;
};

int ferry__op_cache_create(struct ferry__op_cache **out)
{
    struct ferry__op_cache *cache = calloc(1, sizeof *cache);

    if (!cache)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
    *out = cache;
    return 0;
}

static void end(struct ferry__op_entry *e)
{
    ferry_op_destroy(e->operation);
    free(e);
}

void ferry__op_cache_destroy(struct ferry__op_cache *cache)
{
    int i;

    for (i = 0; cache && i < BUCKETS; i++)
        while (cache->bucket[i]) {
            struct ferry__op_entry *next = cache->bucket[i]->next;

            end(cache->bucket[i]);
            cache->bucket[i] = next;
        }
    free(cache);
}

/* FNV-1a, a word at a time: an operation is 8-byte words throughout. */
static unsigned hash(const ferry_op *op)
{
    uint64_t h = UINT64_C(14695981039346656037), word;
    size_t i;

    for (i = 0; i + sizeof word <= sizeof *op; i += sizeof word) {
        memcpy(&word, (const char *)op + i, sizeof word);
        h = (h ^ word) * UINT64_C(1099511628211);
    }
    return (unsigned)(h >> 56);
}

int ferry__op_cache_get(struct ferry__op_cache *cache, int owner, ferry_device *dev,
                        const ferry_op *op, struct ferry__op_entry **out)
{
    struct ferry__op_entry **bucket = &cache->bucket[(hash(op) + (unsigned)owner) % BUCKETS], *e;
    int err;

    for (e = *bucket; e; e = e->next)
        if (e->owner == owner && e->device == dev && !memcmp(&e->op, op, sizeof *op)) {
            e->turn = cache->turn;
            *out = e;
            return 0;
        }
    e = calloc(1, sizeof *e);
    if (!e)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
    err = ferry_op_create(dev, op, &e->operation);
    if (err) {
        free(e);
        return err;
    }
    e->op = *op;
    e->owner = owner;
    e->device = dev;
    e->turn = cache->turn;
    e->next = *bucket;
    *bucket = e;
    *out = e;
    return 0;
}

ferry_operation *ferry__op_entry_use(struct ferry__op_cache *cache, struct ferry__op_entry *entry)
{
    entry->turn = cache->turn;
    return entry->operation;
}

void ferry__op_cache_turn(struct ferry__op_cache *cache)
{
    cache->turn++;
}

void ferry__op_cache_sweep(struct ferry__op_cache *cache)
{
    struct ferry__op_entry **at;
    int i;

    for (i = 0; i < BUCKETS; i++)
        for (at = &cache->bucket[i]; *at;) {
            struct ferry__op_entry *e = *at;

            if (e->turn + KEPT_TURNS > cache->turn) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            end(e);
        }
}
