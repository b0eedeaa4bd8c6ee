/* SPDX-License-Identifier: BSD-2-Clause */
#include "op-results.h"

#include <stdlib.h>
#include <string.h>

/*
 * Each instruction set runs the same operations on the same values, and the reference takes longer
 * than the plugin: its results are kept, by a hash of all that they depend on. Past KEPT_BYTES they
 * are computed each time.
 */
#define KEPT_BYTES (256u << 20)
#define KEPT_LISTS 4096

struct kept {
    struct kept *next;
    uint64_t hash;
    size_t count;
    double values[]; /* of all outputs */
};

static struct kept *kept[KEPT_LISTS];
static size_t kept_bytes;

static uint64_t hash_words(uint64_t hash, const void *from, size_t bytes)
{
    const unsigned char *p = from;
    uint64_t word;

    for (; bytes >= sizeof(word); p += sizeof(word), bytes -= sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, p, bytes);
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

uint64_t rig_hash(const struct rig *r, const ferry_op_desc *op)
{
    uint64_t hash = hash_words(r->seed, &r->offset, sizeof(r->offset));

    hash = hash_words(hash, op, sizeof(*op));
    for (uint32_t i = 0; i < op->n_in; i++)
        hash = hash_words(hash, r->in[i], (size_t)rig_count(&op->in[i]) * sizeof(double));
    for (uint32_t i = 0; i < op->n_out; i++)
        hash = hash_words(hash, r->out[i], (size_t)rig_count(&op->out[i]) * sizeof(double));
    return hash;
}

/* The number of elements of all outputs. */
static size_t count_all(const struct rig *r)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < r->op.n_out; i++)
        count += rig_count(&r->op.out[i]);
    return (size_t)count;
}

bool rig_recall(struct rig *r, uint64_t hash)
{
    const struct kept *k = kept[hash % KEPT_LISTS];
    size_t count = count_all(r);
    const double *from;

    while (k && (k->hash != hash || k->count != count))
        k = k->next;
    if (!k)
        return false;
    from = k->values;
    for (uint32_t i = 0; i < r->op.n_out; from += rig_count(&r->op.out[i++]))
        memcpy(r->out[i], from, (size_t)rig_count(&r->op.out[i]) * sizeof(*from));
    return true;
}

void rig_keep(const struct rig *r, uint64_t hash)
{
    size_t count = count_all(r);
    struct kept *k = kept_bytes + count * sizeof(double) > KEPT_BYTES
                         ? NULL
                         : malloc(sizeof(*k) + count * sizeof(double));
    double *to;

    if (!k)
        return;
    kept_bytes += sizeof(*k) + count * sizeof(double);
    *k = (struct kept){ .next = kept[hash % KEPT_LISTS], .hash = hash, .count = count };
    kept[hash % KEPT_LISTS] = k;
    to = k->values;
    for (uint32_t i = 0; i < r->op.n_out; to += rig_count(&r->op.out[i++]))
        memcpy(to, r->out[i], (size_t)rig_count(&r->op.out[i]) * sizeof(*to));
}
