/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/coherence.h"

#include "core/coherence/idle.h"
#include "core/coherence/uses.h"
#include "core/base/status.h"
#include "core/device/section.h"

#include <string.h>

static uint32_t bit(unsigned slot)
{
    return UINT32_C(1) << slot;
}

/* ---- publishing ---- */

/* What a replica adds to the word that settled accesses look at. */
static uint64_t flags_of(ferry_memory *m, const struct ferry__replica *r, unsigned slot,
                         uint32_t valid)
{
    uint64_t flags = 0;

    if (ferry__uses_have(r->uses, true))
        flags |= FERRY__SLOW(slot);
    if (ferry__uses_have(r->uses, false) || (r->readonly && (valid & bit(slot))))
        flags |= FERRY__READERS;
    if ((valid & bit(slot)) && *ferry__replica_filled(m, slot) < m->used)
        flags |= FERRY__SLOW(slot);
    return flags;
}

/* Whether an access by host or home has nothing to do but to say who has the contents. */
static bool takes_turns(ferry_memory *m, uint64_t word)
{
    uint64_t both = bit(FERRY__HOST) | bit(m->home_slot);

    return word && !(word & ~both) && m->alias == m->home_slot && ferry__replica_one_pointer(m) &&
           !m->home->events && m->on_host.ref.handle && !m->on_host.readonly &&
           m->on_host.filled == m->used && m->alias_filled == m->used;
}

void ferry__coherence_publish(ferry_memory *m, uint32_t valid)
{
    uint64_t word = valid;
    struct ferry__device_replica *d;
    struct ferry__replica *home = ferry__replica_find(m, m->home_slot);
    void *host = NULL;

    word |= flags_of(m, &m->on_host, FERRY__HOST, valid);
    if (m->alias)
        word |= flags_of(m, ferry__replica_find(m, m->alias), m->alias, valid);
    if (ferry__replica_is_imported(m, m->alias) && (word & FERRY__SLOW(m->alias)) && (valid & 1))
        word |= FERRY__SLOW(FERRY__HOST); /* what the device does to shared bytes */
    for (d = m->on_devices; d; d = d->next)
        word |= flags_of(m, &d->r, d->r.slot, valid);
    if (m->idle)
        word |= ~(uint64_t)FERRY__VALID_MASK & ~FERRY__LOST;
    if ((!valid && m->lost) || takes_turns(m, word))
        word |= FERRY__LOST;
    if (m->on_host.ref.handle)
        host = (char *)m->on_host.ref.handle + m->on_host.ref.offset;
    /* A settled reader may be looking at what has not changed. */
    if (m->host != host)
        m->host = host;
    if (home && (m->home_ref.handle != home->ref.handle || m->home_ref.offset != home->ref.offset))
        m->home_ref = home->ref;
    atomic_store_explicit(&m->state, word, memory_order_release);
}

/* ---- losing bits ---- */

/*
 * A copy that is about to lose its bit remembers what its device's default queue may still be doing
 * with it. A lost device does nothing any more.
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

static int leave_events(struct ferry__request *req, uint32_t losers)
{
    int err = 0;

    for (losers &= ~bit(FERRY__HOST); losers && !err; losers &= losers - 1)
        err = leave_event(req->m, (unsigned)__builtin_ctz(losers));
    return err;
}

int ferry__coherence_claim(struct ferry__request *req, uint32_t valid)
{
    int err = leave_events(req, req->valid & ~valid);

    if (!err)
        req->valid = valid;
    return err;
}

/* ---- the four ways into a slot ---- */

/*
 * Orders the access after uses of the replica it will touch: those that are noted, and what the
 * program may do with a valid copy on the default queue. (A copy that has lost its bit left an event
 * there.)
 */
static int after_uses(struct ferry__request *req, struct ferry__replica *r, enum ferry__after after)
{
    int err = ferry__uses_order(r->uses, after, req->q);

    if (!err && req->where && (req->valid & bit(req->slot)))
        err = ferry__transfer_after_default(req->where, req->q);

    /* one pointer for host and device: the host waits for what the device does with it */
    if (!err && r == &req->m->on_host && req->m->alias &&
        !ferry__replica_is_imported(req->m, req->m->alias))
        err = ferry__transfer_after_default(req->m->alias_device, req->q);
    return err;
}

/*
 * The same where the old contents are not wanted: a writer that failed is done all the same, and there
 * is no copy any more, should the access not come to its end.
 */
static int after_whatever(struct ferry__request *req, struct ferry__replica *r)
{
    int failed, err;

    do {
        err = after_uses(req, r, FERRY__AFTER_ALL);
        failed = r->uses ? ferry__uses_settle(r->uses) : 0;
        if (failed)
            ferry__transfer_fail(req, req->slot, failed);
    } while (err && failed);
    return err;
}

/* Zeros [from, used) of the replica, on the request's queue. */
static int zero_tail(struct ferry__request *req, struct ferry__replica *r, size_t from)
{
    ferry_memory *m = req->m;
    size_t bytes = m->used - from;
    ferry_ref at = r->ref;
    ferry_event *e;
    int err, ended;

    at.offset += from;
    err = ferry__uses_order(r->uses, FERRY__AFTER_ALL, req->q); /* who reads has the old bytes */
    if (err)
        return err;
    if (!req->where) {
        memset((char *)at.handle + at.offset, 0, bytes);
        return 0;
    }
    err = ferry__uses_reserve(&r->uses, 3);
    if (!err)
        err = ferry__section_begin(req->q);
    if (err)
        return err;
    err = ferry__queue_memset(req->q, at, 0, bytes);
    ended = ferry__section_end(req->q, &e);
    if (!err)
        err = ended;
    if (e && !err)
        ferry__uses_add(r->uses, e, req->q, true);
    ferry__event_release(e);
    return err;
}

/* Whether the bytes are the other side's too, which has them all. */
static bool other_side_has_all(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    unsigned other = req->slot == FERRY__HOST ? m->alias : FERRY__HOST;

    return ferry__replica_shares(m, req->slot, other) && (req->valid & bit(other)) &&
           *ferry__replica_filled(m, other) >= m->used;
}

/* The bytes in use beyond those that were ever filled read as zeros. */
static int fill_up(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    size_t *filled = ferry__replica_filled(m, req->slot);
    uint32_t valid = req->access & FERRY_WRITE ? bit(req->slot) : req->valid | bit(req->slot);
    int err;

    if (*filled >= m->used)
        return 0;
    if (r->storage != FERRY__STORAGE_EMPTY && !other_side_has_all(req)) {
        err = ferry__transfer_enter(req, req->slot, bit(req->slot)); /* to write there */
        if (!err)
            err = zero_tail(req, r, *filled);
        if (!err)
            err = ferry__transfer_enter(req, req->slot, valid);
        if (err)
            return err;
    }
    *filled = m->used;
    return 0;
}

/*
 * New contents, ordered after all uses: what the others did is of no interest any more, on either
 * side of shared bytes.
 */
static void forget_uses(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;

    req->ordered = true;
    ferry__uses_clear(r->uses);
    if (req->slot == FERRY__HOST && m->alias)
        ferry__uses_clear(ferry__replica_find(m, m->alias)->uses);
    else if (req->slot == m->alias)
        ferry__uses_clear(m->on_host.uses);
}

/* Shared bytes to the slot's side, where nobody wants the old contents. */
static int enter_whatever(struct ferry__request *req)
{
    int err;

    do
        err = ferry__transfer_enter(req, req->slot, bit(req->slot));
    while (err && ferry__transfer_forget_failed(req));
    return err;
}

/* V = ∅, to be read: zeros. */
static int first_touch(struct ferry__request *req, struct ferry__replica *r, bool zeroed)
{
    int err = after_whatever(req, r);

    if (!err)
        err = enter_whatever(req);
    if (err)
        return err;
    forget_uses(req, r);
    *ferry__replica_filled(req->m, req->slot) = zeroed ? req->m->used : 0;
    return 0;
}

/* Whether contents beyond the bytes in use stay though these are overwritten. */
static bool keeps_tail(struct ferry__request *req)
{
    return (req->valid & bit(req->slot)) &&
           *ferry__replica_filled(req->m, req->slot) > req->m->used;
}

/*
 * The old contents are not wanted. A tail that stays has to be there: whether those who write it have
 * failed, nobody asks any more.
 */
static int overwrite(struct ferry__request *req, struct ferry__replica *r)
{
    int err;

    if (keeps_tail(req)) /* how that ended is found next */
        (void)ferry__uses_order(r->uses, FERRY__AFTER_WRITERS, NULL);
    err = after_whatever(req, r);

    if (!err)
        err = enter_whatever(req);
    if (err)
        return err;
    forget_uses(req, r);
    if (!keeps_tail(req))
        *ferry__replica_filled(req->m, req->slot) = req->m->used;
    return 0;
}

/* Whether what was waited for has failed: the error, of the copy or of the contents. */
static int check_copy(struct ferry__request *req)
{
    int failed = ferry__transfer_settle_all(req, req->slot);

    if (!failed)
        return 0;
    return req->valid ? ferry__transfer_say_failed(req, failed)
                      : ferry__transfer_say_lost(req, true);
}

/* The copy is valid already. */
static int present(struct ferry__request *req, struct ferry__replica *r)
{
    bool write = (req->access & FERRY_WRITE) != 0;
    uint32_t valid = write ? bit(req->slot) : req->valid;
    int err = after_uses(req, r, write ? FERRY__AFTER_ALL : FERRY__AFTER_WRITERS);

    if (!err)
        err = ferry__transfer_enter(req, req->slot, valid);
    if (!err && !req->q) /* what was waited for is known */
        err = check_copy(req);
    if (!err && write) {
        req->ordered = true;
        ferry__uses_supersede(r->uses, req->q);
    }
    return err;
}

/* ---- an access, from the request to the published state ---- */

static int check_access(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;

    if (m->lost && (req->access & FERRY_READ))
        return ferry__transfer_say_lost(req, false);
    if (r && r->readonly && (req->access & FERRY_WRITE) && (req->valid & bit(req->slot)))
        return ferry__error(FERRY_EPERM, "%s: write to memory adopted as read-only",
                            req->where ? req->where->name : "host");
    return 0;
}

/* The replica that a host-memory device will share once it is accessed; NULL for others. */
static struct ferry__replica *host_block_of(struct ferry__request *req)
{
    bool shares = req->where && ferry__device_is(req->where, FERRY_DEVICE_HOST_MEMORY);

    return shares && !req->m->alias ? &req->m->on_host : NULL;
}

/*
 * Storage that is to be replaced may be in use on a default queue still: a block of the program's, or
 * one that a device imports.
 */
static bool replaces_busy(struct ferry__request *req, const struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    bool stale = r->readonly && !(req->valid & bit(req->slot));
    bool shared = r == &m->on_host && ferry__replica_is_imported(m, m->alias);
    ferry_device *user = r->storage == FERRY__STORAGE_ADOPTED ? req->where : NULL;

    if (!r->ref.handle || !(stale || r->capacity < m->size))
        return false;
    if (shared || r->storage == FERRY__STORAGE_IMPORTED)
        user = m->alias_device;
    if (shared &&
        ferry__uses_would_block(ferry__replica_find(m, m->alias)->uses, FERRY__AFTER_ALL, NULL))
        return true;
    return user && ferry__section_is_busy(&user->queue);
}

/* A valid copy whose tail is to be filled, which is a write. */
static bool is_short(struct ferry__request *req)
{
    ferry_memory *m = req->m;

    return (req->valid & bit(req->slot)) && *ferry__replica_filled(m, req->slot) < m->used;
}

/* The same of shared bytes, which are mapped to and fro for it. */
static bool is_short_and_busy(struct ferry__request *req)
{
    ferry_memory *m = req->m;

    return is_short(req) && ferry__replica_is_imported(m, m->alias) &&
           (req->slot == FERRY__HOST || req->slot == m->alias) &&
           ferry__section_is_busy(&m->alias_device->queue);
}

static bool would_block(struct ferry__request *req, struct ferry__replica *r)
{
    bool write = (req->access & FERRY_WRITE) != 0 || is_short(req);
    bool there = (req->valid & bit(req->slot)) != 0;
    enum ferry__after after = write || !there ? FERRY__AFTER_ALL : FERRY__AFTER_WRITERS;

    if (r && (ferry__uses_would_block(r->uses, after, req->q) || replaces_busy(req, r)))
        return true;
    if (is_short_and_busy(req))
        return true;
    if (r && !(req->access & FERRY_READ) && keeps_tail(req) &&
        ferry__uses_would_block(r->uses, FERRY__AFTER_WRITERS, NULL))
        return true;
    if (!there && (req->access & FERRY_READ) && ferry__transfer_would_block(req))
        return true;
    return ferry__transfer_enter_would_block(req,
                                             write ? bit(req->slot) : req->valid | bit(req->slot));
}

/*
 * For an access that is not to wait: FERRY_EBUSY if it would, or FERRY_ELOST if it would have to
 * because of contents that have failed. What is found to have failed is published.
 */
static int check_nowait(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    uint32_t before = req->valid;
    bool blocks = would_block(req, r);

    if (req->valid != before)
        ferry__coherence_publish(m, req->valid);
    if (!req->valid && m->lost && (req->access & FERRY_READ))
        return ferry__transfer_say_lost(req, before != 0);
    return blocks ? ferry__error(FERRY_EBUSY, "%s: work is pending on %zu bytes",
                                 req->where ? req->where->name : "host", m->used)
                  : 0;
}

/*
 * A write to one side of a block that the program adopted read-only for the other: the sides part,
 * and the one to be written gets storage of its own.
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
    req->valid &= ~bit(req->slot);
    ferry__coherence_publish(m, req->valid); /* whatever becomes of the access */
    return 0;
}

/*
 * Whether the slot's bytes may come to be the host's. Not those of a block that is not to be written,
 * by one who is to write; nor, by an import, those that other threads may be reading.
 */
static bool may_alias(const struct ferry__request *req)
{
    if (!req->where)
        return false;
    if (ferry__device_is(req->where, FERRY_DEVICE_HOST_MEMORY))
        return !(req->access & FERRY_WRITE) || !req->m->on_host.readonly;
    return !(req->valid & 1);
}

/* Storage for the slot; a read-only block that other contents have to go into is replaced. */
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

/* By the state that the slot is in, up to but not including the loss of other bits. */
static int enter_slot(struct ferry__request *req, struct ferry__replica *r, bool zeroed, bool *done)
{
    if (!(req->access & FERRY_READ))
        return overwrite(req, r);
    if (!req->valid)
        return first_touch(req, r, zeroed);
    if (req->valid & bit(req->slot))
        return present(req, r);
    return ferry__transfer_in(req, r, done);
}

/* Whether the program will work on a queue that plain accessors are not ordered with. */
static bool is_foreign(const struct ferry__request *req)
{
    return req->where && !req->prefetch && req->q != &req->where->queue && req->where->events;
}

/*
 * What an access needs besides its bytes, and could fail to get: events on the copies that will
 * lose their bits, and room for the program's own use. Nothing that comes after the bytes have
 * moved or were mapped can fail.
 */
static int prepare(struct ferry__request *req, struct ferry__replica *r)
{
    int err = 0;

    if (req->access & FERRY_WRITE)
        err = leave_events(req, req->valid & ~bit(req->slot));
    if (!err && (r->uses || is_foreign(req)))
        err = ferry__uses_reserve(&r->uses, 1);
    return err;
}

/*
 * The program's own work on its queue, which ferry cannot see; a write has everything before it
 * subsumed.
 */
static void note_program(struct ferry__request *req, struct ferry__replica *r)
{
    if (is_foreign(req))
        ferry__uses_add_program(r->uses, req->q, (req->access & FERRY_WRITE) != 0);
}

int ferry__coherence_settle(struct ferry__request *req)
{
    uint32_t before = req->valid;
    int err = check_copy(req);

    if (req->valid != before)
        ferry__coherence_publish(req->m, req->valid);
    return err;
}

/* Losses, seen before anything else is done. What would be overwritten may be lost. */
static int settle(struct ferry__request *req)
{
    int err = ferry__coherence_settle(req);

    return req->access & FERRY_READ ? err : 0;
}

static void commit(struct ferry__request *req, struct ferry__replica *r)
{
    req->valid = req->access & FERRY_WRITE ? bit(req->slot) : req->valid | bit(req->slot);
    note_program(req, r);
    req->m->lost = 0;
    if (req->access & FERRY_WRITE)
        ferry__memory_count_write(req->m);
    if (!req->evicting)
        ferry__idle_withdraw(req->m);
    ferry__coherence_publish(req->m, req->valid);
}

/*
 * A block that the first leg of a prefetch leaves empty may exist for its queue alone so far: the
 * second leg may come on another.
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

uint32_t ferry__coherence_hand_back(struct ferry__request *req, uint32_t valid)
{
    const ferry_memory *m = req->m;
    uint32_t device, both;

    if (!ferry__replica_is_imported(m, m->alias))
        return valid;
    device = UINT32_C(1) << m->alias;
    both = device | 1u;
    if (!(valid & both) || !ferry__transfer_enter(req, valid & 1 ? FERRY__HOST : m->alias, valid))
        return valid;
    if (valid & ~both)
        return valid & ~both;
    return m->mapped == FERRY_READ ? both : m->mapped ? 1u : device;
}

/* Undoes what a failed access began. */
static int give_up(struct ferry__request *req, struct ferry__replica *r, bool fresh,
                   uint32_t before, int err)
{
    ferry_memory *m = req->m;

    if (ferry__transfer_settle_all(req, req->slot) && !req->valid)
        err = ferry__transfer_say_lost(req, m->lost != FERRY_ELOST);
    if (req->ordered && req->q) /* it alone knows what it was ordered after */
        ferry__queue_settle(req->q->device, req->q->handle);
    if (fresh)
        ferry__replica_drop(m, r, &req->after);
    if (!req->valid && before && !m->lost)
        req->valid = before;
    ferry__coherence_publish(m, ferry__coherence_hand_back(req, req->valid));
    return err;
}

/*
 * A device that is lost and shares the host's bytes gives them back; its copy is no more. Whether
 * there was one.
 */
static bool forsake_lost(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    uint32_t before = req->valid;
    unsigned slot = m->alias;

    if (!slot || !ferry__device_lost(m->alias_device) || ferry__device_forked(m->alias_device))
        return false;
    if (ferry__replica_is_imported(m, slot))
        ferry__replica_drop(m, ferry__replica_find(m, slot), &req->after);
    else
        ferry__replica_set_alias(m, NULL);
    req->valid &= ~bit(slot);
    if (before && !req->valid)
        m->lost = FERRY_ELOST;
    ferry__coherence_publish(m, req->valid);
    return true;
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
    if (req->nowait)
        err = check_nowait(req, r ? r : host_block_of(req));
    if (err)
        return err;
    before = req->valid;
    err = provide(req, &r, &zeroed, &fresh);
    if (!err)
        err = prepare(req, r);
    if (!err)
        err = enter_slot(req, r, fresh && zeroed, &done);
    if (!err && done)
        err = fill_up(req, r);
    if (err)
        return give_up(req, r, fresh || (!aliased && ferry__replica_is_imported(m, req->slot)),
                       before, err);
    if (!done) { /* the first leg of a prefetch */
        if (fresh)
            note_block(req, r);
        ferry__coherence_publish(m, req->valid);
        return 0;
    }
    commit(req, r);
    if (out)
        *out = r->ref;
    return 0;
}

/* Whether the slot's copy went with some device, and the contents are elsewhere. */
static bool went(const struct ferry__request *req, uint32_t before)
{
    return (before & ~req->valid & bit(req->slot)) && req->valid &&
           !(req->where && ferry__device_lost(req->where));
}

int ferry__coherence_access(struct ferry__request *req, ferry_ref *out)
{
    uint32_t before;
    int err;

    forsake_lost(req);
    before = req->valid;
    err = access_slot(req, out);
    if (err == FERRY_ELOST && (forsake_lost(req) || went(req, before))) /* it was not known */
        err = access_slot(req, out);
    return err;
}

int ferry__coherence_prefetch(struct ferry__request *req)
{
    int err;

    req->access = FERRY_READ;
    err = settle(req);
    if (!err && req->m->lost)
        err = ferry__transfer_say_lost(req, false);
    if (err || !req->valid || (req->valid & bit(req->slot)))
        return err;
    req->prefetch = true;
    req->reason = FERRY__PREFETCH;
    return ferry__coherence_access(req, NULL);
}
