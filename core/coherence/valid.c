/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/valid.h"

#include "core/coherence/uses.h"
#include "core/device/section.h"

/* ---- publishing ---- */

/* What a replica adds to the word that settled accesses look at. One that is valid has not failed. */
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

/* Whether an access by host or home has nothing to do but to say who has the contents. */
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
