/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/enter.h"

#include "core/coherence/lost.h"
#include "core/coherence/uses.h"
#include "core/base/status.h"
#include "core/device/section.h"

#include <string.h>

/* ---- zeros ---- */

/* Zeros [from, used) of the replica, on the request's queue. */
static int zero_tail(struct ferry__request *req, struct ferry__replica *r, size_t from)
{
    ferry_memory *m = req->m;
    size_t bytes = m->used - from;
    ferry_ref at = r->ref;
    ferry_event *e;
    int err, ended;

    at.offset += from;
    err = ferry__uses_order(r->uses, FERRY__AFTER_ALL, req->q); /* pending readers need the old
                                                                 * bytes */
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

/* Whether another slot shares these bytes, and all of its bytes in use are contents. */
static bool other_side_has_all(struct ferry__request *req)
{
    ferry_memory *m = req->m;
    unsigned other = req->slot == FERRY__HOST ? m->alias : FERRY__HOST;

    return ferry__replica_shares(m, req->slot, other) && (req->valid & ferry__valid_bit(other)) &&
           *ferry__replica_filled(m, other) >= m->used;
}

int ferry__enter_fill_tail(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    size_t *filled = ferry__replica_filled(m, req->slot);
    uint32_t valid = req->access & FERRY_WRITE ? ferry__valid_bit(req->slot)
                                               : req->valid | ferry__valid_bit(req->slot);
    int err;

    if (r->storage != FERRY__STORAGE_EMPTY && !other_side_has_all(req)) {
        err =
            ferry__transfer_enter(req, req->slot, ferry__valid_bit(req->slot)); /* for the write
                                                                                 * there */
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

/* ---- contents beyond the bytes in use ---- */

/*
 * Whether the request's slot has a valid copy that is too short. Filling up such a copy is a write.
 */
static bool tail_is_short(struct ferry__request *req)
{
    ferry_memory *m = req->m;

    return (req->valid & ferry__valid_bit(req->slot)) &&
           *ferry__replica_filled(m, req->slot) < m->used;
}

/*
 * Whether contents beyond the bytes in use stay in the request's slot when the bytes in use are
 * overwritten.
 */
static bool tail_stays(struct ferry__request *req)
{
    return (req->valid & ferry__valid_bit(req->slot)) &&
           *ferry__replica_filled(req->m, req->slot) > req->m->used;
}

/* ---- growing back ---- */

/* V without the copies on lost devices, if any other copy is left. */
static uint32_t within_reach(ferry_memory *m, uint32_t valid)
{
    uint32_t left, found = 0;

    for (left = valid; left; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctz(left);
        ferry_device *dev = ferry__replica_device(m, s);

        if (!dev || !ferry__device_lost(dev))
            found |= UINT32_C(1) << s;
    }
    return found ? found : valid;
}

/* V without the copies whose storage is smaller than `bytes`, if any other copy is left. */
static uint32_t with_room(ferry_memory *m, uint32_t valid, size_t bytes)
{
    uint32_t left, found = 0;

    for (left = valid; left; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctz(left);

        if (ferry__replica_find(m, s)->capacity >= bytes)
            found |= UINT32_C(1) << s;
    }
    return found ? found : valid;
}

/* V without the copies that are shorter than `bytes`, if a longer copy is left. */
static uint32_t long_enough(ferry_memory *m, uint32_t valid, size_t bytes)
{
    uint32_t left, kept = 0;
    size_t longest;

    valid = with_room(m, within_reach(m, valid), bytes);
    longest = ferry__replica_longest(m, valid);
    longest = longest < bytes ? longest : bytes;
    for (left = valid; left; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctz(left);

        if (*ferry__replica_filled(m, s) >= longest)
            kept |= UINT32_C(1) << s;
    }
    return kept;
}

/* Whether the copy that is to replace shorter ones is valid; waits for its pending work. */
static bool is_there(struct ferry__request *req, unsigned slot)
{
    ferry_device *dev = ferry__replica_device(req->m, slot);
    bool was_lost = dev && ferry__device_lost(dev); /* if even this copy is on a lost device, all
                                                     * copies are */

    (void)ferry__uses_order(ferry__replica_find(req->m, slot)->uses, FERRY__AFTER_WRITERS, NULL);
    ferry__transfer_settle(req, slot);
    return (req->valid & ferry__valid_bit(slot)) &&
           (!dev || was_lost || ferry__section_answers(dev));
}

uint32_t ferry__enter_reach(struct ferry__request *req, size_t bytes)
{
    uint32_t kept, left;
    bool there;

    do {
        kept = long_enough(req->m, req->valid, bytes);
        there = true;
        for (left = kept == req->valid ? 0 : kept; left; left &= left - 1)
            there &= is_there(req, (unsigned)__builtin_ctz(left));
    } while (!there);
    return kept;
}

/* ---- three ways into a slot ---- */

/*
 * Orders the access after uses of the replica: those that are noted, and the program's unseen work
 * on a valid copy on the default queue. (A copy that has lost its bit left an event there.)
 */
static int after_uses(struct ferry__request *req, struct ferry__replica *r, enum ferry__after after)
{
    int err = ferry__uses_order(r->uses, after, req->q);

    if (!err && req->where && (req->valid & ferry__valid_bit(req->slot)))
        err = ferry__transfer_after_default(req->where, req->q);

    /* host and device share one pointer, so the host waits for the device's work on it */
    if (!err && r == &req->m->on_host && req->m->alias &&
        !ferry__replica_is_imported(req->m, req->m->alias))
        err = ferry__transfer_after_default(req->m->alias_device, req->q);
    return err;
}

/*
 * As after_uses, for an access that does not need the old contents: a failed writer counts as done,
 * and the copy becomes invalid if the access does not complete.
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

/*
 * Records new contents, ordered after all uses: earlier work on either side of shared bytes no
 * longer matters.
 */
static void forget_uses(struct ferry__request *req, struct ferry__replica *r)
{
    req->ordered = true;
    ferry__uses_clear(r->uses);
    ferry__transfer_forget_other_side(req->m, req->slot);
}

/* Hands shared bytes to the slot's side when the old contents are not needed. */
static int enter_whatever(struct ferry__request *req)
{
    int err;

    do
        err = ferry__transfer_enter(req, req->slot, ferry__valid_bit(req->slot));
    while (err && ferry__transfer_forget_failed(req));
    return err;
}

int ferry__enter_first_touch(struct ferry__request *req, struct ferry__replica *r, bool zeroed)
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

int ferry__enter_overwrite(struct ferry__request *req, struct ferry__replica *r)
{
    int err;

    if (tail_stays(req)) /* the result of this wait is checked next */
        (void)ferry__uses_order(r->uses, FERRY__AFTER_WRITERS, NULL);
    err = after_whatever(req, r);

    if (!err)
        err = enter_whatever(req);
    if (err)
        return err;
    forget_uses(req, r);
    if (!tail_stays(req))
        *ferry__replica_filled(req->m, req->slot) = req->m->used;
    return 0;
}

int ferry__enter_present(struct ferry__request *req, struct ferry__replica *r)
{
    bool write = (req->access & FERRY_WRITE) != 0;
    uint32_t valid = write ? ferry__valid_bit(req->slot) : req->valid;
    int err = after_uses(req, r, write ? FERRY__AFTER_ALL : FERRY__AFTER_WRITERS);

    if (!err)
        err = ferry__transfer_enter(req, req->slot, valid);
    if (!err && !req->q) /* the wait has returned the result of the work */
        err = ferry__transfer_check(req);
    if (!err && write) {
        req->ordered = true;
        ferry__uses_supersede(r->uses, req->q);
    }
    return err;
}

/* The host's replica if the device of the request will share it once it is accessed; else NULL. */
static struct ferry__replica *host_block_of(struct ferry__request *req)
{
    bool shares = req->where && ferry__device_is(req->where, FERRY_DEVICE_HOST_MEMORY);

    return shares && !req->m->alias ? &req->m->on_host : NULL;
}

/*
 * Whether storage that is to be replaced may still be in use on a default queue: a block of the
 * program, or a block that a device imports.
 */
static bool replaces_busy(struct ferry__request *req, const struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    bool stale = r->readonly && !(req->valid & ferry__valid_bit(req->slot));
    bool shared = r == &m->on_host && ferry__replica_is_imported(m, m->alias);
    ferry_device *user = r->storage == FERRY__STORAGE_ADOPTED ? req->where : NULL;

    if (!r->ref.handle || !(stale || r->capacity < ferry__memory_wanted(m)))
        return false;
    if (r->storage == FERRY__STORAGE_ADOPTED && /* no other record has the users of adopted
                                                 * memory */
        ferry__uses_would_block(r->uses, FERRY__AFTER_ALL, NULL))
        return true;
    if (shared || r->storage == FERRY__STORAGE_IMPORTED)
        user = m->alias_device;
    if (shared &&
        ferry__uses_would_block(ferry__replica_find(m, m->alias)->uses, FERRY__AFTER_ALL, NULL))
        return true;
    return user && ferry__section_is_busy(&user->queue);
}

/*
 * Whether the device will fill the tail of bytes that the host can also read, on its own queue: the
 * host's next map waits for that queue. (When the host fills the tail, a map precedes it, as for a
 * write.)
 */
static bool is_short_and_busy(struct ferry__request *req)
{
    ferry_memory *m = req->m;

    return ferry__replica_is_imported(m, req->slot) && (req->valid & 1) && tail_is_short(req) &&
           ferry__section_is_busy(&m->alias_device->queue);
}

static bool is_taken(const ferry_device *dev, ferry_queue *q)
{
    return dev && !ferry__device_forked(dev) && ferry__queue_is_taken(q);
}

/*
 * Whether another thread is inside a plugin call on a queue that the access needs: for example a
 * map, or a copy to the host.
 */
static bool meets_another(const struct ferry__request *req)
{
    const ferry_memory *m = req->m;

    return is_taken(req->where, req->q) || (ferry__replica_is_imported(m, m->alias) &&
                                            is_taken(m->alias_device, &m->alias_device->queue));
}

static bool would_block(struct ferry__request *req, struct ferry__replica *r)
{
    bool write = (req->access & FERRY_WRITE) != 0 || tail_is_short(req);
    bool there = (req->valid & ferry__valid_bit(req->slot)) != 0;
    enum ferry__after after = write || !there ? FERRY__AFTER_ALL : FERRY__AFTER_WRITERS;

    if (r && (ferry__uses_would_block(r->uses, after, req->q) || replaces_busy(req, r)))
        return true;
    if (is_short_and_busy(req))
        return true;
    if (r && !(req->access & FERRY_READ) && tail_stays(req) &&
        ferry__uses_would_block(r->uses, FERRY__AFTER_WRITERS, NULL))
        return true;
    if (!there && (req->access & FERRY_READ) && ferry__transfer_would_block(req))
        return true;
    return ferry__transfer_enter_would_block(req, write ? ferry__valid_bit(req->slot)
                                                        : req->valid | ferry__valid_bit(req->slot));
}

static int say_busy(const struct ferry__request *req)
{
    return ferry__error(FERRY_EBUSY, "%s: work is pending on %zu bytes",
                        req->where ? req->where->name : "host", req->m->used);
}

int ferry__enter_check_import(const struct ferry__request *req)
{
    ferry_memory *m = req->m;
    bool blocks =
        ferry__replica_is_imported(m, m->alias) &&
        (ferry__uses_would_block(m->on_host.uses, FERRY__AFTER_ALL, NULL) ||
         ferry__uses_would_block(ferry__replica_find(m, m->alias)->uses, FERRY__AFTER_ALL, NULL));

    return blocks ? say_busy(req) : 0;
}

int ferry__enter_check_nowait(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    uint32_t before = req->valid;
    bool blocks = meets_another(req) || would_block(req, r ? r : host_block_of(req));

    if (!req->valid && m->lost && (req->access & FERRY_READ))
        return ferry__lost_say(req->m, before != 0);
    return blocks ? say_busy(req) : 0;
}
