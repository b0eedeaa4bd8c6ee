/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/coherence.h"

#include "core/coherence/enter.h"
#include "core/coherence/idle.h"
#include "core/coherence/lost.h"
#include "core/coherence/uses.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/device/section.h"

/* ---- around a transition ---- */

/*
 * Takes the memory's lock. After fork a thread of the parent may have held the lock, and no thread
 * of the child can release it; so a child only waits for a lock that was taken in the child.
 */
int ferry__request_lock(ferry_memory *m, bool nowait)
{
    unsigned forks = atomic_load_explicit(&ferry__forks, memory_order_relaxed);
    bool forked = ferry__device_forked(m->home);

    if (!nowait && !forked) {
        pthread_mutex_lock(&m->lock);
    } else if (pthread_mutex_trylock(&m->lock)) {
        if (forked && atomic_load_explicit(&m->locked_in, memory_order_relaxed) != forks)
            return ferry__error(FERRY_EFORKED, "%s: the parent was at work on this memory: %s",
                                m->home->name, ferry_strerror(FERRY_EFORKED));
        if (nowait)
            return ferry__error(FERRY_EBUSY, "%s: another thread is at work on this memory",
                                m->home->name);
        pthread_mutex_lock(&m->lock);
    }
    atomic_store_explicit(&m->locked_in, forks, memory_order_relaxed);
    return 0;
}

int ferry__request_begin(struct ferry__request *req, ferry_memory *m, ferry_device *where,
                         bool nowait)
{
    int err;

    req->m = m;
    req->where = where;
    req->q = req->hint = NULL;
    req->slot = where ? where->slot : FERRY__HOST;
    req->access = 0;
    req->prefetch = req->ordered = req->evicting = false;
    req->nowait = nowait;
    req->reason = FERRY__READ_MISS;
    req->after.first = NULL;
    err = ferry__section_refuse("work on a memory");
    if (err)
        return err;
    ferry__log_hold();
    err = ferry__request_lock(m, nowait);
    if (err) {
        ferry__log_release();
        return err;
    }
    req->valid = ferry__coherence_valid(m);
    return 0;
}

void ferry__request_end(struct ferry__request *req)
{
    pthread_mutex_unlock(&req->m->lock);
    ferry__log_release();
    ferry__after_unlock_run(&req->after);
}

/* ---- publishing ---- */

/*
 * A replica's contribution to the word that settled accesses read. A valid replica is not marked as
 * failed.
 */
static uint64_t flags_of(ferry_memory *m, struct ferry__replica *r, unsigned slot, uint32_t valid)
{
    uint64_t flags = 0;

    if (valid & ferry__valid_bit(slot))
        r->failed = 0;
    if (ferry__uses_have(r->uses, true))
        flags |= FERRY__SLOW(slot);
    if (ferry__uses_have(r->uses, false) || (r->readonly && (valid & ferry__valid_bit(slot))))
        flags |= FERRY__READERS;
    if ((valid & ferry__valid_bit(slot)) && *ferry__replica_filled(m, slot) < m->used)
        flags |= FERRY__SLOW(slot);
    return flags;
}

/* Whether an access by host or home only has to record which side has the contents. */
static bool takes_turns(ferry_memory *m, uint64_t word)
{
    uint64_t both = ferry__valid_bit(FERRY__HOST) | ferry__valid_bit(m->home_slot);

    return word && !(word & ~both) && m->alias == m->home_slot && ferry__replica_one_pointer(m) &&
           !m->home->events && m->on_host.ref.handle && !m->on_host.readonly &&
           m->on_host.filled == m->used && m->alias_filled == m->used;
}

void ferry__valid_publish(ferry_memory *m, uint32_t valid)
{
    uint64_t word = valid;
    struct ferry__device_replica *d;
    struct ferry__replica *home = ferry__replica_find(m, m->home_slot);
    void *host = NULL;

    word |= flags_of(m, &m->on_host, FERRY__HOST, valid);
    if (m->alias)
        word |= flags_of(m, ferry__replica_find(m, m->alias), m->alias, valid);
    if (ferry__replica_is_imported(m, m->alias) && (word & FERRY__SLOW(m->alias)) && (valid & 1))
        word |= FERRY__SLOW(FERRY__HOST); /* the device's pending work on shared bytes */
    for (d = m->on_devices; d; d = d->next)
        word |= flags_of(m, &d->r, d->r.slot, valid);
    if (m->idle || m->tail_lost)
        word |= ~(uint64_t)FERRY__VALID_MASK & ~FERRY__LOST;
    if ((!valid && m->lost) || takes_turns(m, word))
        word |= FERRY__LOST;
    if (m->on_host.ref.handle)
        host = (char *)m->on_host.ref.handle + m->on_host.ref.offset;
    /* Written only if changed: a settled reader may be reading it. */
    if (m->host != host)
        m->host = host;
    if (home && (m->home_ref.handle != home->ref.handle || m->home_ref.offset != home->ref.offset))
        m->home_ref = home->ref;
    atomic_store_explicit(&m->state, word, memory_order_release);
}

/* ---- losing bits ---- */

/*
 * Records an event after the default queue of the device whose copy is about to become invalid. A
 * lost device executes no work, so it needs no event.
 */
static int leave_event(ferry_memory *m, unsigned slot)
{
    struct ferry__replica *r = ferry__replica_find(m, slot);
    ferry_device *dev = ferry__replica_device(m, slot);
    ferry_event *e;
    int err;

    if (!dev || !dev->events || r == &m->on_host || ferry__device_forked(dev))
        return 0;
    err = ferry__uses_reserve(&r->uses, 2);
    if (!err)
        err = ferry__section_mark(&dev->queue, &e);
    if (err)
        return err == FERRY_ELOST ? 0 : err;
    if (e)
        ferry__uses_add_blameless(r->uses, e, &dev->queue);
    ferry__event_release(e);
    return 0;
}

int ferry__valid_leave_events(struct ferry__request *req, uint32_t losers)
{
    int err = 0;

    for (losers &= ~ferry__valid_bit(FERRY__HOST); losers && !err; losers &= losers - 1)
        err = leave_event(req->m, (unsigned)__builtin_ctz(losers));
    return err;
}

int ferry__valid_claim(struct ferry__request *req, uint32_t valid)
{
    int err = ferry__valid_leave_events(req, req->valid & ~valid);

    if (!err)
        req->valid = valid;
    return err;
}

/* ---- shared bytes ---- */

uint32_t ferry__valid_hand_back(struct ferry__request *req, uint32_t valid)
{
    ferry_memory *m = req->m;
    uint32_t device, both, now;
    size_t filled;

    if (!ferry__replica_is_imported(m, m->alias))
        return valid;
    device = UINT32_C(1) << m->alias;
    both = device | 1u;
    if (!(valid & both) || !ferry__transfer_enter(req, valid & 1 ? FERRY__HOST : m->alias, valid))
        return valid;
    /* the side that is mapped has the bytes, with the contents of either side */
    now = m->mapped == FERRY_READ ? both : m->mapped ? 1u : device;
    filled = ferry__replica_longest(m, valid & both);
    if (now & 1)
        m->on_host.filled = filled;
    if (now & device)
        *ferry__replica_filled(m, m->alias) = filled;
    return (valid & ~both) | now;
}

/* ---- an access, from the request to the published state ---- */

static int check_access(struct ferry__request *req, struct ferry__replica *r)
{
    if ((req->access & FERRY_READ) && ferry__lost_any(req->m, req->valid))
        return ferry__lost_say(req->m, false);
    if (r && r->readonly && (req->access & FERRY_WRITE) &&
        (req->valid & ferry__valid_bit(req->slot)))
        return ferry__error(FERRY_EPERM, "%s: write to memory adopted as read-only",
                            req->where ? req->where->name : "host");
    return 0;
}

/*
 * Prepares a write to one side of shared bytes that the program adopted read-only for the other
 * side: the two sides are separated, and the written side gets storage of its own.
 */
static int part_from_readonly(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    int err;

    if (!(req->access & FERRY_WRITE) || !m->on_host.readonly || !ferry__replica_one_pointer(m) ||
        m->on_host.adopted_at == req->slot || (req->where && req->slot != m->alias))
        return 0;
    err = ferry__replica_separate(m);
    if (err)
        return err;
    req->valid &= ~ferry__valid_bit(req->slot);
    ferry__valid_publish(m, req->valid); /* even if the access fails */
    return 0;
}

/*
 * Whether the slot may share the host's bytes. A write to a read-only block may not, and a block
 * that other threads may be reading is not imported.
 */
static bool may_alias(const struct ferry__request *req)
{
    if (!req->where)
        return false;
    if (ferry__device_is(req->where, FERRY_DEVICE_HOST_MEMORY))
        return !(req->access & FERRY_WRITE) || !req->m->on_host.readonly;
    return !(req->valid & 1);
}

/*
 * Provides storage for the slot, and replaces a read-only block that has to receive other contents.
 */
static int provide(struct ferry__request *req, struct ferry__replica **r, bool *zeroed, bool *fresh)
{
    ferry_memory *m = req->m;
    int err;

    if (may_alias(req))
        ferry__replica_try_alias(m, req->where, &req->after);
    *r = ferry__replica_of(m, req->where);
    if (!*r)
        return FERRY_ENOMEM;
    ferry__replica_drop_readonly(m, *r, req->valid, &req->after);
    err = ferry__replica_provide(m, *r, req->where, req->q, zeroed, fresh, &req->after);
    if (!err && !req->where && *fresh)
        ferry__replica_share_host(m, &req->after);
    return err;
}

/* Enters the slot, according to its state; the other copies stay valid until the commit. */
static int enter_slot(struct ferry__request *req, struct ferry__replica *r, bool zeroed, bool *done)
{
    if (!(req->access & FERRY_READ))
        return ferry__enter_overwrite(req, r);
    if (!req->valid)
        return ferry__enter_first_touch(req, r, zeroed);
    if (req->valid & ferry__valid_bit(req->slot))
        return ferry__enter_present(req, r);
    return ferry__transfer_in(req, r, done);
}

/* Whether the program will work on a queue that plain accessors are not ordered with. */
static bool is_foreign(const struct ferry__request *req)
{
    return req->where && !req->prefetch && req->q != &req->where->queue && req->where->events;
}

/*
 * Allocates in advance whatever an access needs besides its bytes: events on the copies that will
 * lose their bits, and room for the program's own use. Nothing after the bytes have moved or were
 * mapped can fail.
 */
static int prepare(struct ferry__request *req, struct ferry__replica *r)
{
    int err = 0;

    if (req->access & FERRY_WRITE)
        err = ferry__valid_leave_events(req, req->valid & ~ferry__valid_bit(req->slot));
    if (!err && (r->uses || is_foreign(req)))
        err = ferry__uses_reserve(&r->uses, 1);
    return err;
}

/*
 * Records the program's own work on its queue, which ferry cannot see; a write supersedes all
 * earlier uses.
 */
static void note_program(struct ferry__request *req, struct ferry__replica *r)
{
    if (is_foreign(req))
        ferry__uses_add_program(r->uses, req->q, (req->access & FERRY_WRITE) != 0);
}

int ferry__coherence_settle(struct ferry__request *req)
{
    uint32_t before = req->valid;
    int err = ferry__transfer_check(req);

    if (req->valid != before)
        ferry__valid_publish(req->m, req->valid);
    return err;
}

/* Detects lost contents before the access changes anything. An overwrite ignores the loss. */
static int settle(struct ferry__request *req)
{
    int err = ferry__coherence_settle(req);

    return req->access & FERRY_READ ? err : 0;
}

static void commit(struct ferry__request *req, struct ferry__replica *r)
{
    req->valid = req->access & FERRY_WRITE ? ferry__valid_bit(req->slot)
                                           : req->valid | ferry__valid_bit(req->slot);
    note_program(req, r);
    req->m->lost = 0;
    if (req->access & FERRY_WRITE)
        ferry__memory_renew(req->m);
    if (!req->evicting && req->m->idle)
        ferry__idle_withdraw(req->m);
    ferry__valid_publish(req->m, req->valid);
}

/*
 * Records an event if a new block was allocated in the order of its queue: the block may be usable
 * on that queue only, and another queue that uses or frees it is ordered after the event.
 */
static void note_block(const struct ferry__request *req, struct ferry__replica *r)
{
    ferry_event *e = NULL;

    if (ferry__uses_reserve(&r->uses, 1) || ferry__section_mark(req->q, &e))
        ferry__queue_settle(req->q->device, req->q->handle);
    else if (e)
        ferry__uses_add_blameless(r->uses, e, req->q);
    ferry__event_release(e);
}

/*
 * Whether the block was allocated in the order of its queue; the pool frees it in the order of the
 * default queue.
 */
static bool is_ordered_block(const struct ferry__request *req, const struct ferry__replica *r)
{
    return r->storage == FERRY__STORAGE_POOL && req->where && req->q != &req->where->queue &&
           ferry__device_is(req->where, FERRY_DEVICE_ORDERED_ALLOC);
}

/* Whether the bytes of the request's slot are shared by an import. */
static bool is_import(const struct ferry__request *req)
{
    const ferry_memory *m = req->m;

    return ferry__replica_is_imported(m, m->alias) &&
           (req->slot == FERRY__HOST || req->slot == m->alias);
}

/*
 * Undoes what a failed access began. If it must not wait, a new import stays: its end would wait
 * for the device.
 */
static int undo_access(struct ferry__request *req, struct ferry__replica *r, bool fresh,
                   uint32_t before, int err)
{
    ferry_memory *m = req->m;

    if (ferry__transfer_settle_all(req, req->slot) && !req->valid)
        err = ferry__lost_say(req->m, m->lost != FERRY_ELOST);
    if (req->ordered && req->q) /* the records of those uses are removed, and only the queue is
                                 * still ordered after them */
        ferry__queue_settle(req->q->device, req->q->handle);
    if (fresh && is_ordered_block(req, r))
        note_block(req, r);
    if (fresh && !(req->nowait && is_import(req)))
        ferry__replica_drop(m, r, &req->after);
    if (!req->valid && before && !m->lost)
        req->valid = before;
    ferry__valid_publish(m, ferry__valid_hand_back(req, req->valid));
    return err;
}

/* Whether a lost device shares the host's bytes. */
static bool is_shared_with_lost(const ferry_memory *m)
{
    return m->alias && ferry__device_lost(m->alias_device) &&
           !ferry__device_forked(m->alias_device);
}

/*
 * Takes the host's bytes back from a lost device that shares them; its copy is invalid from then
 * on. The end of an import waits for all work on the bytes: a request that must not wait returns
 * FERRY_EBUSY instead.
 */
static int forsake_lost(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    uint32_t before = req->valid;
    unsigned slot = m->alias;
    int err = req->nowait ? ferry__enter_check_import(req) : 0;

    if (err)
        return err;
    ferry__lost_note(m, &req->valid, ferry__valid_bit(slot));
    if (ferry__replica_is_imported(m, slot))
        ferry__replica_drop(m, ferry__replica_find(m, slot), &req->after);
    else
        ferry__replica_set_alias(m, NULL);
    if (before && !req->valid)
        m->lost = FERRY_ELOST;
    ferry__valid_publish(m, req->valid);
    return 0;
}

static int access_slot(struct ferry__request *req, ferry_ref *out)
{
    ferry_memory *m = req->m;
    struct ferry__replica *r;
    bool zeroed = !req->valid && (req->access & FERRY_READ), fresh = false, done = true;
    bool aliased = m->alias != 0;
    uint32_t before;
    int err = settle(req);

    if (!err)
        err = part_from_readonly(req);
    r = ferry__replica_find(m, req->slot);
    if (!err)
        err = check_access(req, r);
    if (err)
        return err;
    before = req->valid;
    if (req->nowait)
        err = ferry__enter_check_nowait(req, r);
    if (req->valid != before)
        ferry__valid_publish(m, req->valid);
    if (err)
        return err;
    before = req->valid;
    err = provide(req, &r, &zeroed, &fresh);
    if (!err)
        err = prepare(req, r);
    if (!err)
        err = enter_slot(req, r, fresh && zeroed, &done);
    if (!err && done && *ferry__replica_filled(m, req->slot) < m->used)
        err = ferry__enter_fill_tail(req, r);
    if (err)
        return undo_access(req, r, fresh || (!aliased && ferry__replica_is_imported(m, req->slot)),
                       before, err);
    if (!done) { /* the prefetch has made the first of two copies */
        if (fresh)
            note_block(req, r);
        ferry__valid_publish(m, req->valid);
        return 0;
    }
    commit(req, r);
    if (out)
        *out = r->ref;
    return 0;
}

/* Whether the slot's copy was lost with its device while the contents are valid elsewhere. */
static bool went(const struct ferry__request *req, uint32_t before)
{
    return (before & ~req->valid & ferry__valid_bit(req->slot)) && req->valid &&
           !(req->where && ferry__device_lost(req->where));
}

int ferry__coherence_access(struct ferry__request *req, ferry_ref *out)
{
    int err = is_shared_with_lost(req->m) ? forsake_lost(req) : 0;
    uint32_t before = req->valid;

    if (err)
        return err;
    err = access_slot(req, out);
    if (err == FERRY_ELOST && is_shared_with_lost(req->m)) { /* the loss has just been detected */
        err = forsake_lost(req);
        return err ? err : access_slot(req, out);
    }
    if (err == FERRY_ELOST && went(req, before))
        err = access_slot(req, out);
    return err;
}

int ferry__coherence_prefetch(struct ferry__request *req)
{
    uint32_t before = req->valid;
    int err;

    req->access = FERRY_READ;
    err = settle(req);
    if (err == FERRY_ELOST && went(req, before))
        err = 0;
    if (!err && ferry__lost_any(req->m, req->valid))
        err = ferry__lost_say(req->m, false);
    if (err || !req->valid || (req->valid & ferry__valid_bit(req->slot)))
        return err;
    req->prefetch = true;
    req->reason = FERRY__PREFETCH;
    return ferry__coherence_access(req, NULL);
}
