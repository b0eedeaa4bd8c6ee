/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/tail.h"

#include "core/coherence/uses.h"
#include "core/coherence/valid.h"
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

    return ferry__replica_shares(m, req->slot, other) && (req->valid & ferry__valid_bit(other)) &&
           *ferry__replica_filled(m, other) >= m->used;
}

int ferry__tail_fill(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    size_t *filled = ferry__replica_filled(m, req->slot);
    uint32_t valid = req->access & FERRY_WRITE ? ferry__valid_bit(req->slot)
                                               : req->valid | ferry__valid_bit(req->slot);
    int err;

    if (*filled >= m->used)
        return 0;
    if (r->storage != FERRY__STORAGE_EMPTY && !other_side_has_all(req)) {
        err =
            ferry__transfer_enter(req, req->slot, ferry__valid_bit(req->slot)); /* to write there */
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

/* ---- what lies beyond the bytes in use ---- */

bool ferry__tail_is_short(struct ferry__request *req)
{
    ferry_memory *m = req->m;

    return (req->valid & ferry__valid_bit(req->slot)) &&
           *ferry__replica_filled(m, req->slot) < m->used;
}

bool ferry__tail_stays(struct ferry__request *req)
{
    return (req->valid & ferry__valid_bit(req->slot)) &&
           *ferry__replica_filled(req->m, req->slot) > req->m->used;
}

/* ---- growing back ---- */

/* What a lost device has is as if it were not there, where there is anything else. */
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

/* Copies that do not reach `bytes` go, if a longer one stays. */
static uint32_t long_enough(ferry_memory *m, uint32_t valid, size_t bytes)
{
    uint32_t left, kept = 0;
    size_t longest = 0;

    valid = within_reach(m, valid);
    for (left = valid; left; left &= left - 1) {
        size_t filled = *ferry__replica_filled(m, (unsigned)__builtin_ctz(left));

        if (filled > longest)
            longest = filled < bytes ? filled : bytes;
    }
    for (left = valid; left; left &= left - 1) {
        unsigned s = (unsigned)__builtin_ctz(left);

        if (*ferry__replica_filled(m, s) >= longest)
            kept |= UINT32_C(1) << s;
    }
    return kept;
}

/* Whether a copy that is to stand for shorter ones is there; waits to find out. */
static bool is_there(struct ferry__request *req, unsigned slot)
{
    ferry_device *dev = ferry__replica_device(req->m, slot);
    bool was_lost = dev && ferry__device_lost(dev); /* so are they all, then */

    (void)ferry__uses_order(ferry__replica_find(req->m, slot)->uses, FERRY__AFTER_WRITERS, NULL);
    ferry__transfer_settle(req, slot);
    return (req->valid & ferry__valid_bit(slot)) &&
           (!dev || was_lost || ferry__section_answers(dev));
}

uint32_t ferry__tail_reach(struct ferry__request *req, size_t bytes)
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
