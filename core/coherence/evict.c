/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/idle.h"

#include "core/coherence/coherence.h"
#include "core/base/log.h"
#include "core/coherence/uses.h"
#include "core/device/pool.h"
#include "core/device/section.h"

#include <string.h>

/* The storage that eviction would free; NULL if there is no such storage. */
static struct ferry__replica *candidate(ferry_memory *m, const ferry_device *dev)
{
    struct ferry__replica *r = ferry__replica_find(m, dev->slot);

    return r && r->slot == dev->slot && r->storage == FERRY__STORAGE_POOL ? r : NULL;
}

/*
 * Whether another valid copy is complete, and not merely pending; waits to find out. Failed copies
 * leave V.
 */
static bool safe_elsewhere(struct ferry__request *req, uint32_t others)
{
    bool safe = false;

    for (; others && !safe; others &= others - 1) {
        unsigned slot = (unsigned)__builtin_ctz(others);
        struct ferry__replica *r = ferry__replica_find(req->m, slot);
        ferry_device *at = ferry__replica_device(req->m, slot);
        int err = ferry__uses_order(r->uses, FERRY__AFTER_WRITERS, NULL);

        safe = !ferry__transfer_settle(req, slot) && !err && (!at || ferry__section_answers(at));
    }
    ferry__valid_publish(req->m, req->valid);
    return safe;
}

/* Brings the bytes to the host, and waits until they are there. */
static bool write_back(ferry_memory *m, struct ferry__request *req)
{
    req->evicting = true;
    req->reason = FERRY__EVICT;
    req->access = FERRY_READ;
    return !ferry__coherence_access(req, NULL) && (ferry__coherence_valid(m) & 1);
}

/* Whether the memory keeps its contents when its copy on that device is freed. */
static bool can_spare(ferry_memory *m, const ferry_device *dev, bool dirty)
{
    uint32_t bit = UINT32_C(1) << dev->slot;
    struct ferry__request req;
    bool written;

    memset(&req, 0, sizeof req);
    req.m = m;
    req.valid = ferry__coherence_valid(m);
    if (!(req.valid & bit) || safe_elsewhere(&req, req.valid & ~bit))
        return true;
    written = dirty && write_back(m, &req);
    ferry__after_unlock_move(ferry__after_unlock_owed(), &req.after);
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
    ferry__replica_drop(m, r, ferry__after_unlock_owed());
    ferry__valid_publish(m, valid & ~bit);
    if (valid & bit) { /* a stale copy has no contents: freeing its block is not an eviction */
        ferry__count(&dev->stats.evictions, 1);
        ferry__trace_event("evict", m->name, bytes, dev, start);
    }
    return bytes;
}

/* One pass over the idle memories; skips those whose lock another thread holds. */
static uint64_t pass(ferry_device *dev, uint64_t wanted, bool dirty)
{
    struct ferry__idle_walk walk;
    uint64_t freed = 0;
    ferry_memory *m;

    ferry__idle_begin(&walk);
    while (freed < wanted && (m = ferry__idle_next(&walk))) {
        freed += evict_from(m, dev, dirty);
        pthread_mutex_unlock(&m->lock);
    }
    ferry__idle_end(&walk);
    return freed;
}

/*
 * Tries to free `bytes` on the device, oldest promise first; returns the bytes freed, which the
 * pool may have cached. The caller may hold one memory's lock. While evict waits for the device, it
 * holds the locks of the memories that it evicts, and no process-wide lock.
 */
static uint64_t evict(ferry_device *dev, uint64_t bytes)
{
    static _Thread_local bool evicting; /* a write-back may itself need room */
    uint64_t freed;

    if (evicting)
        return 0;
    evicting = true;
    ferry__log_hold();
    freed = pass(dev, bytes, false);
    if (freed < bytes)
        freed += pass(dev, bytes - freed, true);
    ferry__log_release();
    evicting = false;
    ferry__after_unlock_finish();
    return freed;
}

void ferry__evict_offer(ferry_memory *m)
{
    ferry__idle_offer(m);
    ferry__pool_set_relief(evict);
}
