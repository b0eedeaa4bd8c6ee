/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of batches: the thread fills the one behind those that are full, the caller takes the first. What it
 * took it has until it takes the next. One that failed stays where it is, the last one, until it was taken.
 *
 * Who computes is not to be put off by who reads: where no processor is free, a thread that is woken gets its
 * waker's at once. So it is not woken for each batch, but when half of them are gone, with no lock held, and it is
 * scheduled as a batch, which preempts no other thread (doc/design/training.md, "Scheduling of the
 * prefetch thread").
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

/* As long as a message can be. */
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
    int64_t n_slots; /* one more than are read ahead: the caller has one */
    int n_blobs;
    bool threaded, started;
    pid_t owner; /* whose thread it is */
    pthread_t thread;
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t filled; /* or failed */
    pthread_cond_t freed;  /* or to end */
    int64_t first, count;  /* of the slots that are full; the thread is at the one behind them */
    bool rests;            /* all were full, and half of them are still */
    bool taken;            /* the first one is the caller's */
    bool failed;           /* the last one is a failure, and was not taken yet */
    bool end;
};

/* ---- reading --------------------------------------------------------------------------------------- */

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

        while (!p->end && (p->rests || p->failed))
            pthread_cond_wait(&p->freed, &p->lock);
        if (p->end)
            break;
        slot = &p->slots[(p->first + p->count) % p->n_slots];
        pthread_mutex_unlock(&p->lock);
        fill(p, slot);
        pthread_mutex_lock(&p->lock);
        p->failed = slot->err != 0;
        p->count++;
        p->rests = p->count == p->n_slots;
        pthread_cond_signal(&p->filled);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Who chose a policy for his program keeps it; a machine that has none for batches is no error. */
static void stand_back(pthread_t thread)
{
    struct sched_param param;
    int policy;

    if (!pthread_getschedparam(thread, &policy, &param) && policy == SCHED_OTHER)
        pthread_setschedparam(thread, SCHED_BATCH, &param);
}

/* Signals are the program's: none is taken by this thread. */
static int start(struct ferry__prefetch *p)
{
    sigset_t all, before;
    int code;

    p->end = p->failed = p->taken = p->rests = false;
    p->first = p->count = 0;
    p->owner = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&p->thread, NULL, work, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        return ferry_error_set(FERRY_ENOMEM, "no thread that reads ahead: %s", strerror(code));
    stand_back(p->thread);
    p->started = true;
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------------- */

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

/* Gives back the slot that was taken; whether the thread is to be woken. */
static bool give_back(struct ferry__prefetch *p)
{
    bool rested = p->rests;

    if (!p->taken)
        return false;
    p->first = (p->first + 1) % p->n_slots;
    p->count--;
    p->rests = rested && p->count > p->n_slots / 2;
    return rested && !p->rests;
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
        return ferry_error_set(FERRY_EFORKED, "%s: what reads ahead is the parent's",
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

/* ---- opening and closing --------------------------------------------------------------------------- */

static int make_slot(struct ferry__prefetch *p, ferry_device *dev, struct slot *slot)
{
    int i, err = 0;

    slot->batch.blobs = calloc((size_t)p->n_blobs, sizeof(ferry_blob *));
    if (!slot->batch.blobs)
        return ferry_error_set(FERRY_ENOMEM, "no memory to read ahead");
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
        return ferry_error_set(FERRY_ENOMEM, "no memory to read %lld batches ahead",
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

/* In a child of fork the thread may have held what would be freed here: it stays. */
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
