/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/memory.h"

#include "core/base/status.h"
#include "core/coherence/coherence.h"
#include "core/coherence/lost.h"
#include "core/coherence/uses.h"
#include "core/device/section.h"

/* ---- one memory, and an event recorded here ---- */

/* Checks that the slot's copy is valid, since only a valid copy can be noted. */
static int check_valid(struct ferry__request *req, const ferry_device *dev)
{
    int err = ferry__coherence_settle(req);

    if (err)
        return err;
    if (req->m->lost)
        return ferry__lost_say(req->m, false);
    if (!(req->valid >> req->slot & 1))
        return ferry__error(FERRY_EUNINIT, "%s: record: it has no valid copy", dev->name);
    return 0;
}

/* Records an event after the queue's work, and notes it on the slot's valid replica. */
static int record_locked(struct ferry__request *req, ferry_queue *q)
{
    struct ferry__replica *r = ferry__replica_find(req->m, req->slot);
    bool write = (req->access & FERRY_WRITE) != 0;
    ferry_event *e;
    int err = check_valid(req, q->device);

    if (!err)
        err = ferry__uses_reserve(&r->uses, 2);
    if (!err)
        err = ferry__queue_mark(q, &e);
    if (err)
        return err;
    if (write)
        err = ferry__valid_claim(req, UINT32_C(1) << req->slot);
    if (!err && write)
        ferry__memory_renew(req->m);
    if (!err && e)
        ferry__uses_add(r->uses, e, q, write);
    ferry__event_release(e);
    ferry__valid_publish(req->m, req->valid);
    return err;
}

static int check_access(const char *call, unsigned access)
{
    if (!access || (access & ~(FERRY_READ | FERRY_WRITE)))
        return ferry__error(FERRY_EINVAL, "%s: access is %#x", call, access);
    return 0;
}

int ferry_memory_record(ferry_memory *m, ferry_queue *q, unsigned access)
{
    struct ferry__request req;
    int err;

    if (!m || !q)
        return ferry__error(FERRY_EINVAL, "ferry_memory_record: NULL argument");
    err = check_access("ferry_memory_record", access);
    if (!err)
        err = ferry__device_usable(q->device);
    if (!err)
        err = ferry__request_begin(&req, m, q->device, false);
    if (err)
        return err;
    req.access = access;
    err = record_locked(&req, q);
    ferry__request_end(&req);
    return err;
}

/* ---- many memories, and one event ---- */

/* Work on a queue that has been submitted completely. */
struct work {
    ferry_queue *q;
    ferry_event *e;           /* NULL: done */
    struct ferry__uses *came; /* the uses that wrote its inputs: the work fails if one of them
                               * fails */
    int failed;               /* it, or one of its inputs, is known to have failed */
    bool whole;               /* it overwrote the contents completely */
};

/* Waits for the work if memory for a record is short, and then checks its inputs. */
static void wait_for(struct work *w, struct ferry__request *req)
{
    int failed = w->e ? ferry_event_synchronize(w->e) : 0;

    if (!failed && req)
        failed = ferry__transfer_settle(req, req->slot);
    if (failed)
        w->failed = failed;
}

/*
 * Notes that the work reads the replica, and that it fails if a pending writer of the replica
 * fails. A read on the default queue is not recorded, because every access considers that queue.
 */
static int note_read(struct ferry__request *req, struct work *w)
{
    struct ferry__replica *r = ferry__replica_find(req->m, req->slot);
    int err = check_valid(req, w->q->device);

    if (err || !w->e)
        return err;
    if (ferry__uses_have(r->uses, true)) {
        if (ferry__uses_reserve(&w->came, ferry__uses_heritage(r->uses)))
            wait_for(w, req);
        else
            ferry__uses_inherit(w->came, r->uses);
    }
    if (w->q == &w->q->device->queue)
        return 0;
    if (ferry__uses_reserve(&r->uses, 1)) {
        wait_for(w, req);
    } else {
        ferry__uses_end_program(r->uses, w->q);
        ferry__uses_add(r->uses, w->e, w->q, false);
    }
    return 0;
}

/* Notes work on a copy that was invalidated meanwhile, because its storage is still in use. */
static int note_late(struct ferry__request *req, struct work *w, int err)
{
    struct ferry__replica *r = ferry__replica_find(req->m, req->slot);

    if (!r || !w->e)
        return err;
    if (ferry__uses_reserve(&r->uses, 1))
        wait_for(w, NULL);
    else
        ferry__uses_add_blameless(r->uses, w->e, w->q);
    return err;
}

/*
 * Makes the copy valid after all of its contents were overwritten: its former contents may have
 * failed meanwhile. False if the slot lacks such a copy.
 */
static bool renew(struct ferry__request *req, struct ferry__replica *r)
{
    uint32_t bit = ferry__valid_bit(req->slot);

    if (!r || !r->ref.handle || !((req->valid & bit) || r->failed))
        return false;
    ferry__uses_clear(r->uses);
    *ferry__replica_filled(req->m, req->slot) = req->m->used;
    req->m->lost = 0;
    req->valid |= bit;
    return true;
}

static int note_write(struct ferry__request *req, struct work *w)
{
    struct ferry__replica *r = ferry__replica_find(req->m, req->slot);
    int err = w->whole && renew(req, r) ? 0 : check_valid(req, w->q->device);

    if (!err)
        err = ferry__valid_claim(req, UINT32_C(1) << req->slot);
    if (err)
        return note_late(req, w, err);
    ferry__memory_renew(req->m);
    if (w->e && ferry__uses_reserve(&r->uses, 1 + ferry__uses_heritage(w->came))) {
        wait_for(w, NULL);
    } else if (w->e) {
        ferry__uses_end_program(r->uses, w->q);
        ferry__uses_inherit(r->uses, w->came);
        ferry__uses_add(r->uses, w->e, w->q, true);
    }
    if (w->failed)
        ferry__transfer_fail(req, req->slot, w->failed);
    return 0;
}

/* Whether finished work, without a failure, only has to be counted as a write. */
static bool note_at_once(ferry_memory *m, const struct work *w, bool write)
{
    if (w->e || w->failed || m->home != w->q->device || ferry__section_is_on() ||
        !ferry__memory_device_settled(m, write ? FERRY_WRITE : FERRY_READ))
        return false;
    if (write)
        ferry__memory_count_write(m);
    return true;
}

static int note(ferry_memory *m, struct work *w, bool write)
{
    struct ferry__request req;
    int err;

    if (note_at_once(m, w, write))
        return 0;
    err = ferry__request_begin(&req, m, w->q->device, false);
    if (err)
        return err;
    req.access = write ? FERRY_WRITE : FERRY_READ;
    err = write ? note_write(&req, w) : note_read(&req, w);
    ferry__valid_publish(m, req.valid);
    ferry__request_end(&req);
    return err;
}

/*
 * Notes an input of the work. If the input's contents are not valid, the work's result is not valid
 * either.
 */
static int note_input(ferry_memory *m, struct work *w)
{
    int err = note(m, w, false);

    if (err && err != FERRY_EUNINIT)
        w->failed = err;
    return err;
}

void ferry__record_work(ferry_memory *to, ferry_memory *from, ferry_queue *q, ferry_event *e,
                        bool whole)
{
    struct work w = { .q = q, .e = e, .whole = whole };

    if (!e)
        return;
    if (from && from != to)
        note_input(from, &w);
    note(to, &w, true);
    ferry__uses_free(w.came);
}

/* Notes everything that can be noted, and returns the first error. */
static int note_all(const ferry_memory_use *uses, size_t n, struct work *w)
{
    size_t i;
    int err, first = 0;

    for (i = 0; i < n; i++) {
        err = uses[i].access & FERRY_READ ? note_input(uses[i].memory, w) : 0;
        first = first ? first : err;
    }
    for (i = 0; i < n; i++) {
        err = uses[i].access & FERRY_WRITE ? note(uses[i].memory, w, true) : 0;
        first = first ? first : err;
    }
    ferry__uses_free(w->came);
    return first;
}

int ferry_memory_record_all(const ferry_memory_use *uses, size_t n, ferry_queue *q, ferry_event *e)
{
    struct work w = { .q = q, .e = e };
    size_t i;
    int err;

    if ((!uses && n) || !q)
        return ferry__error(FERRY_EINVAL, "ferry_memory_record_all: NULL argument");
    for (i = 0; i < n; i++) {
        err = uses[i].memory ? check_access("ferry_memory_record_all", uses[i].access)
                             : ferry__error(FERRY_EINVAL, "ferry_memory_record_all: NULL memory");
        if (err)
            return err;
    }
    if (e && e->device != q->device)
        return ferry__error(FERRY_EINVAL, "%s: the event belongs to %s", q->device->name,
                            e->device->name);
    err = ferry__device_usable(q->device);
    return err ? err : note_all(uses, n, &w);
}
