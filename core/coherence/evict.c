/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/evict.h"

#include "core/coherence/coherence.h"
#include "core/base/log.h"
#include "core/coherence/uses.h"
#include "core/device/pool.h"

#include <string.h>

/*
 * The memories under wont_use, in the order of their promises. A memory's lock comes before this
 * one; whoever holds this one only tries for a memory's.
 */
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static ferry_memory *oldest, *newest;

/* Of adopted memory that this thread let go of; the access that needed the room may hold a lock. */
static _Thread_local struct ferry__after_unlock owed;

/*
 * A child of fork has the parent's memories, none of which it could evict; and whoever held the lock
 * is not there to give it back.
 */
static void forked_in_child(void)
{
    pthread_mutex_init(&idle_lock, NULL);
    oldest = newest = NULL;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked_in_child);
}

/* The storage that eviction would free; NULL if there is none. */
static struct ferry__replica *candidate(ferry_memory *m, const ferry_device *dev)
{
    struct ferry__replica *r = ferry__replica_find(m, dev->slot);

    return r && r->slot == dev->slot && r->storage == FERRY__STORAGE_POOL ? r : NULL;
}

/* Whether one of the other valid copies is there, and not merely on its way; waits to find out. */
static bool safe_elsewhere(ferry_memory *m, uint32_t others)
{
    for (; others; others &= others - 1) {
        struct ferry__replica *r = ferry__replica_find(m, (unsigned)__builtin_ctz(others));

        if (!ferry__uses_order(r->uses, FERRY__AFTER_WRITERS, NULL))
            return true;
    }
    return false;
}

/* Brings the bytes to the host, and waits until they are there. */
static bool write_back(ferry_memory *m, struct ferry__request *req)
{
    req->evicting = true;
    req->reason = FERRY__EVICT;
    req->access = FERRY_READ;
    return !ferry__coherence_access(req, NULL) && (ferry__coherence_valid(m) & 1);
}

/* Whether the memory keeps its contents without the copy on that device. */
static bool can_spare(ferry_memory *m, const ferry_device *dev, bool dirty)
{
    uint32_t bit = UINT32_C(1) << dev->slot;
    struct ferry__request req;
    bool written;

    memset(&req, 0, sizeof req);
    req.m = m;
    req.valid = ferry__coherence_valid(m);
    if (!(req.valid & bit) || safe_elsewhere(m, req.valid & ~bit))
        return true;
    written = dirty && write_back(m, &req);
    ferry__after_unlock_move(&owed, &req.after);
    return written;
}

/* Frees the memory's copy on the device; returns its bytes, 0 if it stays. */
static uint64_t evict_from(ferry_memory *m, ferry_device *dev, bool dirty)
{
    uint32_t valid, bit = UINT32_C(1) << dev->slot;
    struct ferry__replica *r = candidate(m, dev);
    double start = ferry__trace_now();
    uint64_t bytes = r ? r->capacity : 0;

    if (!r || !can_spare(m, dev, dirty))
        return 0;
    valid = ferry__coherence_valid(m);
    ferry__replica_drop(m, r, &owed);
    ferry__coherence_publish(m, valid & ~bit);
    if (valid & bit) { /* a stale copy is no more than a block that was free */
        ferry__count(&dev->stats.evictions, 1);
        ferry__trace_event("evict", m->name, bytes, dev, start);
    }
    return bytes;
}

/* One pass over all idle memories, whose list stays as it is meanwhile. */
static uint64_t pass(ferry_device *dev, uint64_t wanted, bool dirty)
{
    uint64_t freed = 0;
    ferry_memory *m;

    for (m = oldest; m && freed < wanted; m = m->idle_next) {
        if (pthread_mutex_trylock(&m->lock))
            continue; /* in use after all */
        freed += evict_from(m, dev, dirty);
        pthread_mutex_unlock(&m->lock);
    }
    return freed;
}

/*
 * Tries to free `bytes` on the device, oldest promise first; returns the bytes freed, which the pool may
 * have cached. The caller may hold one memory's lock; memories whose lock is taken are passed over.
 */
static uint64_t evict(ferry_device *dev, uint64_t bytes)
{
    static _Thread_local bool evicting; /* what is written back may need room in its turn */
    uint64_t freed;

    if (evicting)
        return 0;
    evicting = true;
    ferry__log_hold();
    pthread_mutex_lock(&idle_lock);
    freed = pass(dev, bytes, false);
    if (freed < bytes)
        freed += pass(dev, bytes - freed, true);
    pthread_mutex_unlock(&idle_lock);
    ferry__log_release();
    evicting = false;
    ferry__evict_finish();
    return freed;
}

void ferry__evict_finish(void)
{
    if (owed.first && !ferry__log_is_held())
        ferry__after_unlock_run(&owed);
}

void ferry__evict_offer(ferry_memory *m)
{
    if (ferry__device_forked(m->home)) /* nothing of it can go */
        return;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&idle_lock);
    m->idle = 1;
    m->idle_next = NULL;
    m->idle_before = newest;
    if (newest)
        newest->idle_next = m;
    else
        oldest = m;
    newest = m;
    pthread_mutex_unlock(&idle_lock);
    ferry__pool_set_relief(evict);
}

void ferry__evict_withdraw(ferry_memory *m)
{
    if (!m->idle)
        return;
    m->idle = 0;
    if (ferry__device_forked(m->home)) /* the promise was the parent's: it is on no list here */
        return;
    pthread_mutex_lock(&idle_lock);
    if (m->idle_before)
        m->idle_before->idle_next = m->idle_next;
    else
        oldest = m->idle_next;
    if (m->idle_next)
        m->idle_next->idle_before = m->idle_before;
    else
        newest = m->idle_before;
    pthread_mutex_unlock(&idle_lock);
}
