/* SPDX-License-Identifier: BSD-2-Clause */
#include "op/packed.h"

#include "op/origin.h"

#include <ferry/blob.h>
#include <ferry/status.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One constant: its location, and its memory's version when it was packed. */
struct constant {
    ferry_memory *memory; /* retained, so that its address is not reused */
    uint64_t offset, version;
};

struct ferry__packed {
    struct ferry__packed *next, **bucket;
    unsigned users; /* protected by the shared lock, like `next` */
    const ferry_op_table *table;
    void *ctx;
    uint64_t key;
    uint32_t inputs; /* bit i: constant[i] is set */
    struct constant constant[FERRY_OP_INPUTS];
    ferry_memory *memory;
    pthread_mutex_t lock; /* protects the following members, and the versions */
    bool done;
};

/* The packed forms of the process, by the memory of their first constant. */
#define BUCKETS 4096

static struct {
    pthread_mutex_t lock;
    struct ferry__packed *bucket[BUCKETS];
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct ferry__packed **bucket_of(const struct ferry__constants *c)
{
    const ferry_op_answer *a = &c->step->answer;
    uintptr_t memory = 0;
    uint64_t n;
    uint32_t i;

    for (i = 0; !memory && i < FERRY_OP_INPUTS; i++)
        if (a->packed_inputs >> i & 1)
            memory = (uintptr_t)c->place[i].memory;
    n = (memory ^ a->packed_key) * UINT64_C(0x9e3779b97f4a7c15);
    return &shared.bucket[(n ^ n >> 32) % BUCKETS];
}

bool ferry__packed_is_of(const struct ferry__packed *p, const struct ferry__constants *c)
{
    const ferry_op_answer *a = &c->step->answer;
    uint32_t i;

    if (p->table != c->target->table || p->ctx != c->target->ctx || p->key != a->packed_key ||
        p->inputs != a->packed_inputs || ferry_memory_size(p->memory) != a->packed_bytes)
        return false;
    for (i = 0; i < FERRY_OP_INPUTS; i++)
        if (p->inputs >> i & 1 && (p->constant[i].memory != c->place[i].memory ||
                                   p->constant[i].offset != c->place[i].offset))
            return false;
    return true;
}

static struct ferry__packed *create(const struct ferry__constants *c)
{
    struct ferry__packed *p = calloc(1, sizeof *p);
    uint32_t i;

    if (!p) {
        ferry_error_set(FERRY_ENOMEM, "%s: no memory for its constants",
                        ferry_op_kind_name(c->step->op.kind));
        return NULL;
    }
    if (ferry_memory_create(c->target->device, (size_t)c->step->answer.packed_bytes, &p->memory)) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    p->users = 1;
    p->table = c->target->table;
    p->ctx = c->target->ctx;
    p->key = c->step->answer.packed_key;
    p->inputs = c->step->answer.packed_inputs;
    for (i = 0; i < FERRY_OP_INPUTS; i++)
        if (p->inputs >> i & 1) {
            p->constant[i].memory = ferry_memory_retain(c->place[i].memory);
            p->constant[i].offset = c->place[i].offset;
        }
    return p;
}

static struct ferry__packed *find(const struct ferry__constants *c, struct ferry__packed *first)
{
    struct ferry__packed *p;

    if (!c->step->answer.packed_key)
        return NULL;
    for (p = first; p; p = p->next)
        if (ferry__packed_is_of(p, c))
            return p;
    return NULL;
}

int ferry__packed_get(const struct ferry__constants *c, struct ferry__packed **out)
{
    struct ferry__packed **bucket = bucket_of(c);
    struct ferry__packed *p;

    pthread_mutex_lock(&shared.lock);
    p = find(c, *bucket);
    if (p) {
        p->users++;
    } else {
        p = create(c);
        if (p) {
            p->bucket = bucket;
            p->next = *bucket;
            *bucket = p;
        }
    }
    pthread_mutex_unlock(&shared.lock);
    if (!p)
        return ferry_last_error_code();
    *out = p;
    return 0;
}

ferry_memory *ferry__packed_memory(const struct ferry__packed *p)
{
    return p->memory;
}

void ferry__packed_release(struct ferry__packed *p)
{
    struct ferry__packed **at;
    uint32_t i;

    if (!p)
        return;
    pthread_mutex_lock(&shared.lock);
    if (--p->users) {
        pthread_mutex_unlock(&shared.lock);
        return;
    }
    for (at = p->bucket; *at != p; at = &(*at)->next)
        ;
    *at = p->next;
    pthread_mutex_unlock(&shared.lock);
    for (i = 0; i < FERRY_OP_INPUTS; i++)
        ferry_memory_release(p->constant[i].memory);
    ferry_memory_release(p->memory);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Whether the packed form matches the constants' present contents. */
static bool is_current(const struct ferry__packed *p)
{
    uint32_t i;

    if (!p->done)
        return false;
    for (i = 0; i < FERRY_OP_INPUTS; i++)
        if (p->inputs >> i & 1 &&
            ferry_memory_version(p->constant[i].memory) != p->constant[i].version)
            return false;
    return true;
}

struct packing {
    const struct ferry__constants *constants;
    ferry_cref in[FERRY_OP_INPUTS];
    struct ferry__origin *origin[FERRY_OP_INPUTS]; /* of the constants that have one */
    ferry_ref packed;
};

static int enqueue(void *ctx, void *queue, void *arg)
{
    struct packing *job = arg;

    return job->constants->target->table->prepare(ctx, queue, job->constants->step->prepared,
                                                  job->in, job->packed);
}

/*
 * Submits the packing with an event of its own: if the constants or the packing fail, the packed
 * form is lost.
 */
static int submit(struct ferry__packed *p, bool on_device, struct packing *job, ferry_queue *q)
{
    ferry_memory_use uses[FERRY_OP_INPUTS + 1];
    ferry_event *event = NULL;
    size_t n = 0, k;
    uint32_t i;
    int err = ferry_queue_begin(q), late;

    if (err)
        return err;
    err = ferry_queue_call(q, "packing of constants", enqueue, job);
    late = ferry_queue_end(q, &event);
    for (i = 0; on_device && i < FERRY_OP_INPUTS; i++) {
        for (k = 0; k < n && uses[k].memory != p->constant[i].memory; k++)
            ;
        if (p->inputs >> i & 1 && k == n)
            uses[n++] = (ferry_memory_use){ p->constant[i].memory, FERRY_READ };
    }
    uses[n++] = (ferry_memory_use){ p->memory, FERRY_WRITE };
    if (!late)
        late = ferry_memory_record_all(uses, n, q, event);
    ferry_event_destroy(event);
    return err ? err : late;
}

/* Submits the packing; if the plugin lacks memory, evicts and submits once more. */
static int submit_or_make_room(struct ferry__packed *p, bool on_device, struct packing *job,
                               ferry_queue *q)
{
    int err = submit(p, on_device, job, q);

    if (err == FERRY_ENOMEM && !ferry_device_make_room(ferry_queue_device(q), FERRY__PLAN_ROOM))
        err = submit(p, on_device, job, q);
    return err;
}

/* Accesses a constant and reads its version first, so that a concurrent write makes the packed form
 * stale. */
static int take_constant(struct ferry__packed *p, uint32_t i, ferry_device *where, ferry_queue *q,
                         struct packing *job)
{
    struct constant *c = &p->constant[i];
    ferry_ref ref;
    int err;

    c->version = ferry_memory_version(c->memory);
    err = ferry__origin_begin(c->memory, &job->origin[i]);
    if (!err)
        err = ferry_memory_access(c->memory, where, FERRY_READ, where ? q : NULL, &ref);
    if (err)
        return err;
    ref.offset += c->offset;
    job->in[i] = ferry_ref_const(ref);
    return 0;
}

/* Gives the pages of the constants with an origin back, which the packing has read. */
static int end_origins(const struct packing *job, ferry_queue *q)
{
    bool waited = false;
    uint32_t i;
    int err = 0;

    for (i = 0; i < FERRY_OP_INPUTS; i++) {
        if (job->origin[i] && !waited)
            err = ferry_device_synchronize(ferry_queue_device(q));
        waited = waited || job->origin[i];
        ferry__origin_end(job->origin[i]);
    }
    return err;
}

static int pack(struct ferry__packed *p, const struct ferry__constants *c, ferry_queue *q)
{
    struct packing job = { .constants = c };
    ferry_device *where = c->target->host ? NULL : c->target->device;
    uint32_t i;
    int err = 0, late;

    p->done = false;
    for (i = 0; !err && i < FERRY_OP_INPUTS; i++)
        if (p->inputs >> i & 1)
            err = take_constant(p, i, where, q, &job);
    if (!err)
        err = ferry_memory_access(p->memory, c->target->device, FERRY_WRITE, q, &job.packed);
    if (!err)
        err = submit_or_make_room(p, where != NULL, &job, q);
    late = end_origins(&job, q);
    p->done = !err && !late;
    return err ? err : late;
}

int ferry__packed_access(struct ferry__packed *p, const struct ferry__constants *c, ferry_queue *q,
                         uint64_t *packs, ferry_ref *out)
{
    int err = 0, tries;

    pthread_mutex_lock(&p->lock);
    for (tries = 0; tries < 2; tries++) {
        if (!is_current(p)) {
            err = pack(p, c, q);
            *packs += !err;
        }
        if (!err)
            err = ferry_memory_access(p->memory, c->target->device, FERRY_READ, q, out);
        if (err != FERRY_ELOST)
            break;
        p->done = false; /* the packed form is lost; the constants may be intact */
    }
    pthread_mutex_unlock(&p->lock);
    return err;
}
