/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/nowait.h"

#include "core/base/status.h"
#include "core/coherence/tail.h"
#include "core/coherence/uses.h"
#include "core/coherence/valid.h"
#include "core/device/section.h"

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
    bool stale = r->readonly && !(req->valid & ferry__valid_bit(req->slot));
    bool shared = r == &m->on_host && ferry__replica_is_imported(m, m->alias);
    ferry_device *user = r->storage == FERRY__STORAGE_ADOPTED ? req->where : NULL;

    if (!r->ref.handle || !(stale || r->capacity < m->size))
        return false;
    if (r->storage == FERRY__STORAGE_ADOPTED && /* which nobody else remembers the users of */
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
 * The device is to fill the tail of bytes that the host can read, too, and does so by itself: for the
 * host's next map the queue is waited for. (To the host's own filling a map goes first, as for a write.)
 */
static bool is_short_and_busy(struct ferry__request *req)
{
    ferry_memory *m = req->m;

    return ferry__replica_is_imported(m, req->slot) && (req->valid & 1) &&
           ferry__tail_is_short(req) && ferry__section_is_busy(&m->alias_device->queue);
}

static bool is_taken(const ferry_device *dev, ferry_queue *q)
{
    return dev && !ferry__device_forked(dev) && ferry__queue_is_taken(q);
}

/*
 * Another thread has the plugin at work on a queue that the access needs, and keeps it until that is done: a
 * map, say, or a copy to the host.
 */
static bool meets_another(const struct ferry__request *req)
{
    const ferry_memory *m = req->m;

    return is_taken(req->where, req->q) || (ferry__replica_is_imported(m, m->alias) &&
                                            is_taken(m->alias_device, &m->alias_device->queue));
}

static bool would_block(struct ferry__request *req, struct ferry__replica *r)
{
    bool write = (req->access & FERRY_WRITE) != 0 || ferry__tail_is_short(req);
    bool there = (req->valid & ferry__valid_bit(req->slot)) != 0;
    enum ferry__after after = write || !there ? FERRY__AFTER_ALL : FERRY__AFTER_WRITERS;

    if (r && (ferry__uses_would_block(r->uses, after, req->q) || replaces_busy(req, r)))
        return true;
    if (is_short_and_busy(req))
        return true;
    if (r && !(req->access & FERRY_READ) && ferry__tail_stays(req) &&
        ferry__uses_would_block(r->uses, FERRY__AFTER_WRITERS, NULL))
        return true;
    if (!there && (req->access & FERRY_READ) && ferry__transfer_would_block(req))
        return true;
    return ferry__transfer_enter_would_block(req, write ? ferry__valid_bit(req->slot)
                                                        : req->valid | ferry__valid_bit(req->slot));
}

int ferry__nowait_check(struct ferry__request *req, struct ferry__replica *r)
{
    ferry_memory *m = req->m;
    uint32_t before = req->valid;
    bool blocks = meets_another(req) || would_block(req, r ? r : host_block_of(req));

    if (req->valid != before)
        ferry__valid_publish(m, req->valid);
    if (!req->valid && m->lost && (req->access & FERRY_READ))
        return ferry__transfer_say_lost(req, before != 0);
    return blocks ? ferry__error(FERRY_EBUSY, "%s: work is pending on %zu bytes",
                                 req->where ? req->where->name : "host", m->used)
                  : 0;
}
