/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/coherence.h"

#include "core/coherence/idle.h"
#include "core/coherence/nowait.h"
#include "core/coherence/tail.h"
#include "core/coherence/uses.h"
#include "core/coherence/valid.h"
#include "core/base/status.h"
#include "core/device/section.h"

/* ---- the four ways into a slot ---- */

/*
 * Orders the access after uses of the replica it will touch: those that are noted, and what the
 * program may do with a valid copy on the default queue. (A copy that has lost its bit left an event
 * there.)
 */
static int after_uses(struct ferry__request *req, struct ferry__replica *r, enum ferry__after after)
{
    int err = ferry__uses_order(r->uses, after, req->q);

    if (!err && req->where && (req->valid & ferry__valid_bit(req->slot)))
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

/*
 * New contents, ordered after all uses: what the others did is of no interest any more, on either
 * side of shared bytes.
 */
static void forget_uses(struct ferry__request *req, struct ferry__replica *r)
{
    req->ordered = true;
    ferry__uses_clear(r->uses);
    ferry__transfer_forget_other_side(req->m, req->slot);
}

/* Shared bytes to the slot's side, where nobody wants the old contents. */
static int enter_whatever(struct ferry__request *req)
{
    int err;

    do
        err = ferry__transfer_enter(req, req->slot, ferry__valid_bit(req->slot));
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

/*
 * The old contents are not wanted. A tail that stays has to be there: whether those who write it have
 * failed, nobody asks any more.
 */
static int overwrite(struct ferry__request *req, struct ferry__replica *r)
{
    int err;

    if (ferry__tail_stays(req)) /* how that ended is found next */
        (void)ferry__uses_order(r->uses, FERRY__AFTER_WRITERS, NULL);
    err = after_whatever(req, r);

    if (!err)
        err = enter_whatever(req);
    if (err)
        return err;
    forget_uses(req, r);
    if (!ferry__tail_stays(req))
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
    uint32_t valid = write ? ferry__valid_bit(req->slot) : req->valid;
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
    if (r && r->readonly && (req->access & FERRY_WRITE) &&
        (req->valid & ferry__valid_bit(req->slot)))
        return ferry__error(FERRY_EPERM, "%s: write to memory adopted as read-only",
                            req->where ? req->where->name : "host");
    return 0;
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
    req->valid &= ~ferry__valid_bit(req->slot);
    ferry__valid_publish(m, req->valid); /* whatever becomes of the access */
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
    if (req->valid & ferry__valid_bit(req->slot))
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
        err = ferry__valid_leave_events(req, req->valid & ~ferry__valid_bit(req->slot));
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
        ferry__valid_publish(req->m, req->valid);
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
    req->valid = req->access & FERRY_WRITE ? ferry__valid_bit(req->slot)
                                           : req->valid | ferry__valid_bit(req->slot);
    note_program(req, r);
    req->m->lost = 0;
    if (req->access & FERRY_WRITE)
        ferry__memory_count_write(req->m);
    if (!req->evicting)
        ferry__idle_withdraw(req->m);
    ferry__valid_publish(req->m, req->valid);
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
    ferry__valid_publish(m, ferry__valid_hand_back(req, req->valid));
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
    req->valid &= ~ferry__valid_bit(slot);
    if (before && !req->valid)
        m->lost = FERRY_ELOST;
    ferry__valid_publish(m, req->valid);
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
        err = ferry__nowait_check(req, r);
    if (err)
        return err;
    before = req->valid;
    err = provide(req, &r, &zeroed, &fresh);
    if (!err)
        err = prepare(req, r);
    if (!err)
        err = enter_slot(req, r, fresh && zeroed, &done);
    if (!err && done)
        err = ferry__tail_fill(req, r);
    if (err)
        return give_up(req, r, fresh || (!aliased && ferry__replica_is_imported(m, req->slot)),
                       before, err);
    if (!done) { /* the first leg of a prefetch */
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

/* Whether the slot's copy went with some device, and the contents are elsewhere. */
static bool went(const struct ferry__request *req, uint32_t before)
{
    return (before & ~req->valid & ferry__valid_bit(req->slot)) && req->valid &&
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
    uint32_t before = req->valid;
    int err;

    req->access = FERRY_READ;
    err = settle(req);
    if (err == FERRY_ELOST && went(req, before))
        err = 0;
    if (!err && req->m->lost)
        err = ferry__transfer_say_lost(req, false);
    if (err || !req->valid || (req->valid & ferry__valid_bit(req->slot)))
        return err;
    req->prefetch = true;
    req->reason = FERRY__PREFETCH;
    return ferry__coherence_access(req, NULL);
}
