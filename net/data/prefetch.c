/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of batches: the thread fills the slot after the last full one, the caller takes the first
 * full one and keeps it until the next call. A failed batch is the last one of the ring until it
 * has been taken.
 *
 * The prefetch thread must not delay the computing thread: on a machine without an idle processor,
 * a woken thread preempts the thread that wakes it. The prefetch thread is therefore woken only
 * when half of the batches are consumed, while no lock is held, and it runs with the batch
 * scheduling policy, which does not preempt other threads (doc/design/training.md, "Scheduling of
 * the prefetch thread").
 */
#define _GNU_SOURCE
#include "net/data/prefetch.h"

#include <ferry/status.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The size of the longest message. */
#define REASON 1024

struct slot {
    struct ferry__batch batch;
    int err;
    char why[REASON];
};

struct ferry__prefetch {
    ferry__prefetch_fn *fn;
    void *arg;
    struct slot *slots;
    int64_t n_slots; /* the depth plus one, since the caller holds one batch */
    int n_blobs;
    bool threaded, started;
    pid_t owner; /* the process that the thread belongs to */
    pthread_t thread;
    pthread_mutex_t lock;  /* protects the following members */
    pthread_cond_t filled; /* a slot was filled, or reading failed */
    pthread_cond_t freed;  /* a slot was freed, or the thread has to end */
    int64_t first, count;  /* the full slots; the thread fills the slot after them */
    bool sleeping;         /* the thread sleeps: all slots were full, and more than half of them
                            * still are */
    bool taken;            /* the caller holds the first slot */
    bool failed;           /* the last slot is a failure that was not yet reported */
    bool end;
};

/* ---- reading --------------------------------------------------------------------------------- */

static void fill(struct ferry__prefetch *p, struct slot *slot)
{
    slot->err = p->fn(p->arg, &slot->batch);
    if (slot->err) {
        strncpy(slot->why, ferry_last_error(), sizeof slot->why - 1);
        slot->why[sizeof slot->why - 1] = 0;
    }
}

static void *work(void *arg)
{
    struct ferry__prefetch *p = arg;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct slot *slot;

        while (!p->end && (p->sleeping || p->failed))
            pthread_cond_wait(&p->freed, &p->lock);
        if (p->end)
            break;
        slot = &p->slots[(p->first + p->count) % p->n_slots];
        pthread_mutex_unlock(&p->lock);
        fill(p, slot);
        pthread_mutex_lock(&p->lock);
        p->failed = slot->err != 0;
        p->count++;
        p->sleeping = p->count == p->n_slots;
        pthread_cond_signal(&p->filled);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/*
 * Keeps a scheduling policy that the program has set; a system without the batch policy is not an
 * error.
 */
static void set_batch_policy(pthread_t thread)
{
    struct sched_param param;
    int policy;

    if (!pthread_getschedparam(thread, &policy, &param) && policy == SCHED_OTHER)
        pthread_setschedparam(thread, SCHED_BATCH, &param);
}

/* Starts the thread. All signals are blocked in it, so that the program's threads receive them. */
static int start(struct ferry__prefetch *p)
{
    sigset_t all, before;
    int code;

    p->end = p->failed = p->taken = p->sleeping = false;
    p->first = p->count = 0;
    p->owner = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&p->thread, NULL, work, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return ferry_error_set(FERRY_ENOMEM, "cannot start the prefetch thread: %s",
                               strerror(code));
    set_batch_policy(p->thread);
    p->started = true;
    return 0;
}

/*
 * ---- taking batches
 * --------------------------------------------------------------------------------
 */

bool ferry__prefetch_reads(const struct ferry__prefetch *p)
{
    return p->started;
}

bool ferry__prefetch_ends(struct ferry__prefetch *p)
{
    bool end;

    if (!p->threaded)
        return false;
    pthread_mutex_lock(&p->lock);
    end = p->end;
    pthread_mutex_unlock(&p->lock);
    return end;
}

/* Frees the slot that the caller holds; returns whether to wake the thread. */
static bool give_back(struct ferry__prefetch *p)
{
    bool rested = p->sleeping;

    if (!p->taken)
        return false;
    p->first = (p->first + 1) % p->n_slots;
    p->count--;
    p->sleeping = rested && p->count > p->n_slots / 2;
    return rested && !p->sleeping;
}

static struct slot *take(struct ferry__prefetch *p)
{
    struct slot *slot;
    bool wakes;

    pthread_mutex_lock(&p->lock);
    wakes = give_back(p);
    while (!p->count)
        pthread_cond_wait(&p->filled, &p->lock);
    p->taken = true;
    slot = &p->slots[p->first];
    if (slot->err) {
        p->failed = false;
        wakes = true;
    }
    pthread_mutex_unlock(&p->lock);
    if (wakes)
        pthread_cond_signal(&p->freed);
    return slot;
}

int ferry__prefetch_next(struct ferry__prefetch *p, const struct ferry__batch **out)
{
    struct slot *slot = &p->slots[0];
    int err = p->threaded && !p->started ? start(p) : 0;

    if (err)
        return err;
    if (p->started && p->owner != getpid())
        return ferry_error_set(FERRY_EFORKED,
                               "%s: the prefetch thread belongs to the parent process",
                               ferry_strerror(FERRY_EFORKED));
    if (p->threaded)
        slot = take(p);
    else
        fill(p, slot);
    if (slot->err)
        return ferry_error_set(slot->err, "%s", slot->why);
    *out = &slot->batch;
    return 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int make_slot(struct ferry__prefetch *p, ferry_device *dev, struct slot *slot)
{
    int i, err = 0;

    slot->batch.blobs = calloc((size_t)p->n_blobs, sizeof(ferry_blob *));
    if (!slot->batch.blobs)
        return ferry_error_set(FERRY_ENOMEM, "no memory to prefetch");
    for (i = 0; !err && i < p->n_blobs; i++)
        err = ferry_blob_create(dev, FERRY_F32, NULL, FERRY_UNSHAPED, &slot->batch.blobs[i]);
    return err;
}

int ferry__prefetch_open(ferry_device *dev, int64_t depth, int n_blobs, ferry__prefetch_fn *fn,
                         void *arg, struct ferry__prefetch **out)
{
    struct ferry__prefetch *p = calloc(1, sizeof *p);
    int64_t i;
    int err = 0;

    if (p)
        p->slots = calloc((size_t)depth + 1, sizeof *p->slots);
    if (!p || !p->slots) {
        free(p);
        return ferry_error_set(FERRY_ENOMEM, "no memory to prefetch %lld batches",
                               (long long)depth);
    }
    p->fn = fn;
    p->arg = arg;
    p->n_slots = depth + 1;
    p->n_blobs = n_blobs;
    p->threaded = depth > 0;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->filled, NULL);
    pthread_cond_init(&p->freed, NULL);
    for (i = 0; !err && i < p->n_slots; i++)
        err = make_slot(p, dev, &p->slots[i]);
    if (err)
        ferry__prefetch_close(p);
    else
        *out = p;
    return err;
}

void ferry__prefetch_stop(struct ferry__prefetch *p)
{
    if (!p->started || p->owner != getpid())
        return;
    pthread_mutex_lock(&p->lock);
    p->end = true;
    pthread_cond_signal(&p->freed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    p->started = false;
}

/*
 * Stops the thread and frees everything. In a child of fork the thread may have held memory or
 * locks that would be freed here: they are leaked.
 */
void ferry__prefetch_close(struct ferry__prefetch *p)
{
    int64_t i;
    int k;

    if (!p)
        return;
    ferry__prefetch_stop(p);
    if (p->started)
        return;
    for (i = 0; i < p->n_slots; i++) {
        for (k = 0; p->slots[i].batch.blobs && k < p->n_blobs; k++)
            ferry_blob_destroy(p->slots[i].batch.blobs[k]);
        free(p->slots[i].batch.blobs);
    }
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->filled);
    pthread_cond_destroy(&p->freed);
    free(p->slots);
    free(p);
}
