/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/transfer.h"

#include "core/coherence/lost.h"
#include "core/coherence/uses.h"
#include "core/base/status.h"
#include "core/device/section.h"
#include "core/device/trace_lanes.h"

static bool is_valid(const struct ferry__request *req, unsigned slot)
{
    return (req->valid >> slot) & 1;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- two sides of the same bytes ---- */

/* The replica of the other side that shares the slot's bytes; NULL: none, or the same one. */
static struct ferry__replica *other_side(ferry_memory *m, unsigned slot)
{
    struct ferry__replica *device;

    if (!m->alias || (slot != FERRY__HOST && slot != m->alias))
        return NULL;
    device = ferry__replica_find(m, m->alias);
    if (device == &m->on_host)
        return NULL;
    return slot == FERRY__HOST ? device : &m->on_host;
}

void ferry__transfer_forget_other_side(ferry_memory *m, unsigned slot)
{
    struct ferry__replica *other = other_side(m, slot);

    if (other)
        ferry__uses_clear(other->uses);
}

/* ---- validity and failures ---- */

int ferry__transfer_fail(struct ferry__request *req, unsigned slot, int code)
{
    ferry_memory *m = req->m;
    uint32_t left, same = UINT32_C(1) << slot;

    if (m->alias && (slot == FERRY__HOST || slot == m->alias)) /* these slots are the same bytes */
        same = (UINT32_C(1) << m->alias) | 1u;
    if (!(req->valid & same))
        return 0;
    left = req->valid & same;
    ferry__lost_note(m, &req->valid, same);
    for (; left; left &= left - 1) {
        *ferry__replica_filled(m, (unsigned)__builtin_ctz(left)) = 0;
        ferry__replica_find(m, (unsigned)__builtin_ctz(left))->failed = 1;
    }
    if (!req->valid)
        m->lost = (int8_t)code;
    return code;
}

int ferry__transfer_settle(struct ferry__request *req, unsigned slot)
{
    ferry_memory *m = req->m;
    struct ferry__replica *r = ferry__replica_find(m, slot), *other = other_side(m, slot);
    int failed = r && r->uses ? ferry__uses_settle(r->uses) : 0, too = 0;
    bool was = is_valid(req, slot);

    if (other)
        too = ferry__uses_settle(other->uses);
    failed = failed ? failed : too;
    if (failed)
        failed = ferry__transfer_fail(req, slot, failed);
    return was ? failed : 0; /* otherwise the failure belongs to the other side */
}

/* After one copy has failed: removes the other copies that are known to have failed with it. */
static void settle_all(struct ferry__request *req)
{
    uint32_t left;

    for (left = req->valid; left; left &= left - 1)
        ferry__transfer_settle(req, (unsigned)__builtin_ctz(left));
}

int ferry__transfer_settle_all(struct ferry__request *req, unsigned slot)
{
    int failed = ferry__transfer_settle(req, slot);

    if (failed)
        settle_all(req);
    return failed;
}

int ferry__transfer_say_failed(const struct ferry__request *req, int code)
{
    return ferry__error(code, "%s (%zu bytes)", ferry_last_error(), req->m->used);
}

int ferry__transfer_check(struct ferry__request *req)
{
    int failed = ferry__transfer_settle_all(req, req->slot);

    if (!failed)
        return 0;
    return req->valid ? ferry__transfer_say_failed(req, failed)
                      : ferry__lost_say(req->m, true);
}

/* A source on a device that turns out to be lost is not valid. */
static bool source_is_lost(struct ferry__request *req, unsigned slot)
{
    ferry_device *from = ferry__replica_device(req->m, slot);

    if (!from || !ferry__device_lost(from) || !is_valid(req, slot))
        return false;
    ferry__lost_note(req->m, &req->valid, UINT32_C(1) << slot);
    if (!req->valid)
        req->m->lost = FERRY_ELOST;
    return true;
}

#define STAGED 3u /* the lowest cost of a transfer through the host, by two copies */

/* The cost of a copy from `slot` to the request's slot; 0 where the bytes are shared. */
static unsigned cost(struct ferry__request *req, unsigned slot)
{
    ferry_device *from = ferry__replica_device(req->m, slot);

    if (ferry__replica_shares(req->m, slot, req->slot))
        return 0;
    if (!req->where || !from) /* the copy is to or from the host */
        return 2;
    if (from->plugin == req->where->plugin && (from->plugin->given & FERRY__GIVEN_PEER) &&
        from->ops->peer_access(req->where->dev, from->dev) > 0)
        return 1;
    /* a copy to the host must not overwrite the host's block while the device that shares its bytes
     * has a valid copy */
    return ferry__replica_shares(req->m, FERRY__HOST, slot) ? STAGED : STAGED + 1;
}

/* The cheapest valid slot, the home first among equals; FERRY__SLOTS if there is no valid slot. */
static unsigned cheapest(struct ferry__request *req)
{
    unsigned best = FERRY__SLOTS, best_cost = 99;
    uint32_t left;

    for (left = req->valid; left; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctz(left);
        unsigned c = 2 * cost(req, s) + (s != req->m->home_slot);

        if (c < best_cost) {
            best = s;
            best_cost = c;
        }
    }
    return best;
}

/* ---- imported bytes: the side that the slot is on ---- */

int ferry__transfer_after_default(ferry_device *dev, ferry_queue *q)
{
    ferry_event *e;
    int err, told;

    if (q == &dev->queue || !dev->events)
        return 0;
    err = ferry__section_mark(&dev->queue, &e);
    if (err || !e)
        return err;
    err = q ? ferry__queue_order(q, e) : ferry_event_synchronize(e);
    if (err && e->stray && atomic_load(&e->state) < 0) /* the queue keeps this failure, which is not
                                                        * attributed */
        err = 0;
    told = q || err ? err : ferry__section_tell(&dev->queue);
    ferry__event_release(e);
    return told;
}

/* The host's access to imported bytes after `slot` was entered. */
static unsigned map_for(const ferry_memory *m, unsigned slot, uint32_t valid)
{
    if (!ferry__replica_is_imported(m, m->alias))
        return m->mapped;
    if (slot == FERRY__HOST)
        return (valid >> m->alias) & 1 ? FERRY_READ : FERRY_READ | FERRY_WRITE;
    if (slot == m->alias)
        return valid & 1 ? FERRY_READ : 0;
    return m->mapped;
}

/*
 * Orders the device's work on the bytes before the host gets the access `want`. A map would wait
 * for this work but not report its failure, and some plugins have no map.
 */
static int after_device(const struct ferry__request *req, unsigned want)
{
    const ferry_memory *m = req->m;
    unsigned gained = want & ~(unsigned)m->mapped;

    if ((gained & FERRY_READ) && (req->access & FERRY_READ))
        return ferry__transfer_after_default(m->alias_device, NULL);
    return 0;
}

bool ferry__transfer_forget_failed(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    struct ferry__replica *device = m->alias ? ferry__replica_find(m, m->alias) : &m->on_host;
    int failed = ferry__uses_settle(m->on_host.uses), too = ferry__uses_settle(device->uses);

    failed = failed ? failed : too;
    if (failed)
        ferry__transfer_fail(req, req->slot, failed);
    return failed != 0;
}

/* Whether neither side of the shared bytes has contents. */
static bool is_stale(const struct ferry__request *req)
{
    return !(req->valid & (UINT32_C(1) << req->m->alias | 1u));
}

int ferry__transfer_enter(struct ferry__request *req, unsigned slot, uint32_t valid)
{
    ferry_memory *m = req->m;
    unsigned want = map_for(m, slot, valid);
    int err = want == m->mapped ? 0 : after_device(req, want);

    if (err || want == m->mapped)
        return err;
    do
        err = ferry__replica_map(m, want);
    while (err && is_stale(req) && ferry__transfer_forget_failed(req));
    return err;
}

/* ---- one leg ---- */

/* Reserves room to note a copy, which is ordered after the writers of `from` and users of `to`. */
static int before_copy(ferry_queue *q, struct ferry__replica *to, struct ferry__replica *from)
{
    int err = ferry__uses_reserve(&to->uses, 3 + ferry__uses_heritage(from->uses));

    if (!err)
        err = ferry__uses_reserve(&from->uses, 2);
    if (!err)
        err = ferry__uses_order(from->uses, FERRY__AFTER_WRITERS, q);
    if (err)
        return err;
    do /* an earlier copy into this replica is not needed any more, and may have failed */
        err = ferry__uses_order(to->uses, FERRY__AFTER_ALL, q);
    while (err && ferry__uses_settle(to->uses));
    return err;
}

/* Submits one copy on `q`. `dev` NULL: the source is the host. */
static int submit(ferry_queue *q, const struct ferry__replica *to,
                  const struct ferry__replica *from, ferry_device *dev, size_t bytes)
{
    ferry_cref src = ferry_ref_const(from->ref);

    if (to->slot == FERRY__HOST)
        return ferry__queue_memcpy(q, FERRY_MEMCPY_D2H, to->ref, src, bytes);
    if (!dev)
        return ferry__queue_memcpy(q, FERRY_MEMCPY_H2D, to->ref, src, bytes);
    return ferry__queue_peer_copy(q, to->ref, dev, src, bytes);
}

/* Notes a copy: until its event is complete, it writes `to` and reads `from`. */
static void note_copy(ferry_queue *q, struct ferry__replica *to, struct ferry__replica *from,
                      ferry_event *e)
{
    ferry__uses_clear(to->uses); /* the copy was ordered after those uses */
    ferry__uses_add(to->uses, e, q, true);
    ferry__uses_inherit(to->uses, from->uses); /* the copy fails if its source fails */
    ferry__uses_add(from->uses, e, q, false);
}

/* A copy, and its section for the trace. */
struct sending {
    bool sent;
    void *section;
};

/*
 * Makes a copy with an event of its own. The event is noted, or waited for. out->sent: the copy was
 * submitted and counted, even if a later step failed.
 */
static int copy(ferry_queue *q, struct ferry__replica *to, struct ferry__replica *from,
                ferry_device *dev, size_t bytes, bool wait, struct sending *out)
{
    ferry_event *e;
    int ended, err = ferry__section_begin(q);

    *out = (struct sending){ false, NULL };
    if (err)
        return err;
    out->section = ferry__lane_begin(q);
    err = submit(q, to, from, dev, bytes);
    ferry__lane_end(q, out->section);
    out->sent = !err;
    ended = ferry__section_end(q, &e);
    if (!err)
        err = ended;
    if (e && !err && !wait)
        note_copy(q, to, from, e);
    else if (e && !err)
        err = ferry_event_synchronize(e);
    if (!err && wait) {
        ferry__uses_clear(to->uses);
        err = ferry__section_tell(&q->device->queue);
    }
    ferry__event_release(e);
    return err;
}

static void trace_host_copy(const char *what, const struct ferry__replica *host, size_t bytes,
                            enum ferry__reason reason, ferry_queue *q, double start,
                            const ferry_memory *m, const struct sending *sending)
{
    bool pinned =
        host->storage == FERRY__STORAGE_PINNED && (host->owner->plugin->given & FERRY__GIVEN_HOST);
    const struct ferry__trace_copy copy = { what, m->name, bytes, reason, !pinned };

    if (sending->sent)
        ferry__trace_copy(&copy, q, start);
    ferry__lane_copy(&copy, q, start, m, sending->section, sending->sent);
}

static int to_host(struct ferry__request *req, struct ferry__replica *host, unsigned from,
                   bool wait, enum ferry__reason reason)
{
    ferry_memory *m = req->m;
    struct ferry__replica *src = ferry__replica_find(m, from);
    ferry_device *dev = ferry__replica_device(m, from);
    ferry_queue *q = req->hint && req->hint->device == dev ? req->hint : &dev->queue;
    size_t bytes = least(*ferry__replica_filled(m, from), m->used);
    double start = ferry__trace_now();
    struct sending sending = { false, NULL };
    int err = ferry__device_usable(dev);

    if (!err)
        err = before_copy(q, host, src);
    if (!err)
        err = ferry__transfer_after_default(dev, q);
    if (!err && bytes) {
        err = copy(q, host, src, dev, bytes, wait, &sending);
        if (err && sending.sent)
            ferry__transfer_say_failed(req, err);
        trace_host_copy("d2h", host, bytes, reason, q, start, m, &sending);
    } else if (!err) {
        err = ferry__uses_absolve(host->uses, q);
    }
    if (!err)
        host->filled = bytes;
    return err;
}

static void trace_device_copy(const struct ferry__request *req, const ferry_device *from,
                              const struct ferry__replica *src, size_t bytes, double start,
                              const struct sending *sending)
{
    const struct ferry__trace_copy peer = { "d2d", req->m->name, bytes, req->reason, false };

    if (!from) {
        trace_host_copy("h2d", src, bytes, req->reason, req->q, start, req->m, sending);
        return;
    }
    if (sending->sent)
        ferry__trace_copy(&peer, req->q, start);
    ferry__lane_copy(&peer, req->q, start, req->m, sending->section, sending->sent);
}

static int to_device(struct ferry__request *req, struct ferry__replica *r, unsigned from)
{
    ferry_memory *m = req->m;
    struct ferry__replica *src = ferry__replica_find(m, from);
    ferry_device *dev = ferry__replica_device(m, from);
    size_t bytes = least(*ferry__replica_filled(m, from), m->used);
    double start = ferry__trace_now();
    struct sending sending = { false, NULL };
    int err = before_copy(req->q, r, src);

    if (!err && dev)
        err = ferry__device_usable(dev);
    if (!err && dev)
        err = ferry__transfer_after_default(dev, req->q);
    if (!err)
        err = bytes ? copy(req->q, r, src, dev, bytes, false, &sending)
                    : ferry__uses_absolve(r->uses, req->q);
    trace_device_copy(req, dev, src, bytes, start, &sending);
    if (!err)
        *ferry__replica_filled(m, req->slot) = bytes;
    return err;
}

/* Waits for the work on `from`, whose bytes the host shares. */
static int look(struct ferry__request *req, unsigned from)
{
    ferry_memory *m = req->m;
    struct ferry__replica *src = ferry__replica_find(m, from);
    int err = 0;

    if (src == &m->on_host) {
        err = ferry__uses_order(src->uses, FERRY__AFTER_WRITERS, NULL);
        if (!err)
            err = ferry__transfer_after_default(m->alias_device, NULL);
    }
    if (!err)
        m->on_host.filled = least(*ferry__replica_filled(m, from), m->used);
    return err;
}

/* The first of two copies through the host; the host's copy becomes valid. */
static int stage(struct ferry__request *req, unsigned from)
{
    ferry_memory *m = req->m;
    bool zeroed = false, fresh;
    int err;

    ferry__replica_drop_readonly(m, &m->on_host, req->valid, &req->after);
    err = ferry__replica_provide(m, &m->on_host, NULL, NULL, &zeroed, &fresh, &req->after);
    if (err)
        return err;
    err = ferry__transfer_enter(req, FERRY__HOST, req->valid | 1u);
    if (!err && ferry__replica_shares(m, FERRY__HOST, from))
        err = look(req, from);
    else if (!err)
        err = to_host(req, &m->on_host, from, !req->prefetch, FERRY__STAGING);
    if (!err && !ferry__replica_shares(m, FERRY__HOST, from))
        ferry__transfer_forget_other_side(m, FERRY__HOST);
    if (err && fresh)
        ferry__replica_drop(m, &m->on_host, &req->after);
    if (!err && !ferry__transfer_settle(req, from))
        req->valid |= 1u;
    return err;
}

/* ---- the whole way ---- */

/* Passes shared bytes to the other side by maps alone, without a copy. */
static int hand_over(struct ferry__request *req, struct ferry__replica *r, unsigned from)
{
    ferry_memory *m = req->m;
    struct ferry__replica *src = ferry__replica_find(m, from);
    uint32_t valid = req->access & FERRY_WRITE ? UINT32_C(1) << req->slot
                                               : req->valid | UINT32_C(1) << req->slot;
    int err = 0;

    if (src == r) { /* host and device use one pointer: work on one side is work on both */
        err = ferry__uses_order(
            r->uses, req->access & FERRY_WRITE ? FERRY__AFTER_ALL : FERRY__AFTER_WRITERS, req->q);
        if (!err && req->slot == FERRY__HOST)
            err = ferry__transfer_after_default(m->alias_device, NULL);
    } else {
        err = ferry__transfer_enter(req, req->slot, valid);
    }
    if (!err)
        *ferry__replica_filled(m, req->slot) = least(*ferry__replica_filled(m, from), m->used);
    return err;
}

/* Tries to copy from a given slot; sets *again if a second copy, from the host, has to follow. */
static int attempt(struct ferry__request *req, struct ferry__replica *r, unsigned from, bool *again)
{
    int err;

    *again = false;
    if (cost(req, from) == 0)
        return hand_over(req, r, from);
    if (cost(req, from) >= STAGED) {
        *again = true;
        return stage(req, from);
    }
    err = ferry__transfer_enter(req, req->slot, req->valid);
    if (!err)
        err = req->where ? to_device(req, r, from)
                         : to_host(req, r, from, !req->prefetch, req->reason);
    if (!err)
        ferry__transfer_forget_other_side(req->m, req->slot);
    return err;
}

/* The cheapest valid slot that is not known to have failed. */
static unsigned source(struct ferry__request *req)
{
    unsigned from;

    while ((from = cheapest(req)) != FERRY__SLOTS) {
        ferry__transfer_settle(req, from);
        if (is_valid(req, from) && !source_is_lost(req, from))
            break;
    }
    return from;
}

int ferry__transfer_in(struct ferry__request *req, struct ferry__replica *r, bool *done)
{
    bool again;
    unsigned from;
    int err;

    while ((from = source(req)) != FERRY__SLOTS) {
        err = attempt(req, r, from, &again);
        /* if the source's writer has failed, the source was invalid, and so is the copy */
        if (ferry__transfer_settle(req, from) || (err && source_is_lost(req, from)))
            continue;
        if (err || !again)
            return err;
        if (req->prefetch) {
            *done = false;
            return 0;
        }
    }
    return ferry__lost_say(req->m, req->m->lost != FERRY_ELOST);
}

/* Whether the home will import the host's block; such a block is mapped at once. */
static bool will_share_host(const ferry_memory *m)
{
    bool stale = m->on_host.readonly && !(ferry__coherence_valid(m) & 1);
    bool replaced = stale || m->on_host.capacity < ferry__memory_wanted(m);

    return !m->alias && (!m->on_host.ref.handle || replaced) && m->size > 0 &&
           ferry__device_is(m->home, FERRY_DEVICE_UNIFIED);
}

/* Whether a device may import the host's block while the host's copy is not valid. */
static bool may_import(struct ferry__request *req)
{
    return req->where && !req->m->alias && !is_valid(req, FERRY__HOST) &&
           ferry__device_is(req->where, FERRY_DEVICE_UNIFIED);
}

/* Whether entering `slot`, whose bytes host and device share, would block. */
static bool enter_would_block(struct ferry__request *req, unsigned slot, uint32_t valid)
{
    ferry_memory *m = req->m;
    unsigned want = map_for(m, slot, valid);

    if (slot == FERRY__HOST && will_share_host(m))
        return ferry__section_is_busy(&m->home->queue);
    if (ferry__replica_one_pointer(m))
        return slot == FERRY__HOST && ferry__section_is_busy(&m->alias_device->queue);
    if (want == m->mapped)
        return false;
    if (ferry__uses_would_block(m->on_host.uses, FERRY__AFTER_ALL, NULL))
        return true;
    return want && (ferry__uses_would_block(ferry__replica_find(m, m->alias)->uses,
                                            FERRY__AFTER_ALL, NULL) ||
                    ferry__section_is_busy(&m->alias_device->queue));
}

bool ferry__transfer_enter_would_block(struct ferry__request *req, uint32_t valid)
{
    if (may_import(req))
        return ferry__uses_would_block(req->m->on_host.uses, FERRY__AFTER_ALL, NULL);
    return enter_would_block(req, req->slot, valid);
}

bool ferry__transfer_would_block(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    unsigned from = source(req);
    ferry_device *dev = from == FERRY__SLOTS ? NULL : ferry__replica_device(m, from);

    if (from == FERRY__SLOTS || (dev && ferry__device_forked(dev)))
        return false; /* the access fails at once */
    switch (cost(req, from)) {
    case 0: /* the host maps the bytes, after the device's work on them */
        return ferry__uses_would_block(ferry__replica_find(m, from)->uses, FERRY__AFTER_ALL,
                                       req->q);
    case STAGED:
    case STAGED + 1:
        return dev->events ||
               ferry__uses_would_block(m->on_host.uses, FERRY__AFTER_ALL, &dev->queue) ||
               enter_would_block(req, FERRY__HOST, req->valid | 1u) ||
               (may_import(req) && ferry__section_is_busy(&req->where->queue)) ||
               enter_would_block(req, req->slot, req->valid | 1u | UINT32_C(1) << req->slot);
    default:
        if (!req->where)
            return dev->events;
        return (dev && dev->events && !ferry__queue_can_order(req->q, dev)) ||
               ferry__uses_would_block(ferry__replica_find(m, from)->uses, FERRY__AFTER_WRITERS,
                                       req->q);
    }
}
