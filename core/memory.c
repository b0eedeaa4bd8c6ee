/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "memory.h"

#include "coherence.h"
#include "evict.h"
#include "fresh.h"
#include "log.h"
#include "pending.h"
#include "replica.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

int ferry_memory_create(ferry_device *home, size_t bytes, ferry_memory **out)
{
    ferry_memory *m;
    int err;

    if (!home || !out)
        return ferry__error(FERRY_EINVAL, "ferry_memory_create: NULL argument");
    err = ferry__device_ready(home) ? 0 : ferry__device_open(home);
    if (err)
        return err;
    m = ferry__fresh(sizeof *m);
    if (!m)
        return ferry__error(FERRY_ENOMEM, "%s: no memory to note a memory of %zu bytes", home->name,
                            bytes);
    m->size = m->used = bytes;
    atomic_init(&m->refs, 1);
    pthread_mutex_init(&m->lock, NULL);
    m->home = ferry__device_retain(home);
    m->home_slot = (uint8_t)home->slot;
    if (ferry__device_is(home, FERRY_DEVICE_HOST_MEMORY)) { /* kept alive as the home */
        m->alias = m->home_slot;
        m->alias_device = home;
    }
    *out = m;
    return 0;
}

ferry_memory *ferry_memory_retain(ferry_memory *m)
{
    if (m)
        atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void ferry_memory_release(ferry_memory *m)
{
    struct ferry__after_unlock after;

    /* whoever holds the only reference need not count it down for anybody to see */
    if (!m || (atomic_load_explicit(&m->refs, memory_order_acquire) != 1 &&
               atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1))
        return;
    ferry__evict_withdraw(m);
    after.first = NULL;
    ferry__log_hold();
    ferry__replica_drop_all(m, &after);
    ferry__log_release();
    ferry__after_unlock_run(&after);
    ferry__device_release(m->home);
    pthread_mutex_destroy(&m->lock);
    free(m->sharers);
    free(m->name);
    free(m);
}

/* ---- around every transition ---- */

static void begin(struct ferry__request *req, ferry_memory *m, ferry_device *where)
{
    req->m = m;
    req->where = where;
    req->q = req->hint = NULL;
    req->slot = where ? where->slot : FERRY__HOST;
    req->access = 0;
    req->prefetch = req->nowait = req->evicting = false;
    req->reason = FERRY__READ_MISS;
    req->after.first = NULL;
    ferry__log_hold();
    pthread_mutex_lock(&m->lock);
    req->valid = ferry__coherence_valid(m);
}

static void end(struct ferry__request *req)
{
    pthread_mutex_unlock(&req->m->lock);
    ferry__log_release();
    ferry__after_unlock_run(&req->after);
    ferry__evict_finish();
}

/* Whether a device, and a queue that should be one of its own, can take part. */
static int check_place(ferry_device *where, ferry_queue *q)
{
    int err = where ? ferry__device_usable(where) : 0;

    if (err)
        return err;
    if (q && q->device != where)
        return ferry__error(FERRY_EINVAL, "%s: the queue belongs to %s",
                            where ? where->name : "host", q->device->name);
    return 0;
}

static int access_memory(ferry_memory *m, ferry_device *where, unsigned access, ferry_queue *q,
                         ferry_ref *out)
{
    struct ferry__request req;
    int err = check_place(where, q);

    if (err)
        return err;
    begin(&req, m, where);
    req.q = where && !q ? &where->queue : q;
    req.access = access & (FERRY_READ | FERRY_WRITE);
    req.nowait = (access & FERRY_NOWAIT) != 0;
    req.reason = access & FERRY_WRITE ? FERRY__WRITE_MISS : FERRY__READ_MISS;
    err = ferry__coherence_access(&req, out);
    end(&req);
    return err;
}

/* ---- the primitive and the accessors ---- */

int ferry_memory_access(ferry_memory *m, ferry_device *where, unsigned access, ferry_queue *q,
                        ferry_ref *out)
{
    if (!m || !out)
        return ferry__error(FERRY_EINVAL, "ferry_memory_access: NULL argument");
    if (!(access & (FERRY_READ | FERRY_WRITE)) ||
        (access & ~(FERRY_READ | FERRY_WRITE | FERRY_NOWAIT)))
        return ferry__error(FERRY_EINVAL, "ferry_memory_access: access is %#x", access);
    return access_memory(m, where, access, q, out);
}

void *ferry__memory_host_slow(ferry_memory *m, unsigned access)
{
    ferry_ref ref;

    return access_memory(m, NULL, access, NULL, &ref) ? NULL : (char *)ref.handle + ref.offset;
}

ferry_ref ferry__memory_device_slow(ferry_memory *m, unsigned access)
{
    ferry_ref ref = { NULL, 0 };

    access_memory(m, m->home, access, NULL, &ref);
    return ref;
}

static void *host(const ferry_memory *m, unsigned access)
{
    if (!m) {
        ferry__error(FERRY_EINVAL, "host data of a NULL memory");
        return NULL;
    }
    return ferry__memory_host((ferry_memory *)m, access);
}

static ferry_ref on_home(const ferry_memory *m, unsigned access)
{
    ferry_ref none = { NULL, 0 };

    if (!m) {
        ferry__error(FERRY_EINVAL, "device data of a NULL memory");
        return none;
    }
    return ferry__memory_device((ferry_memory *)m, access);
}

const void *ferry_memory_host_data(const ferry_memory *m)
{
    return host(m, FERRY_READ);
}

void *ferry_memory_mutable_host_data(ferry_memory *m)
{
    return host(m, FERRY_READ | FERRY_WRITE);
}

void *ferry_memory_overwrite_host_data(ferry_memory *m)
{
    return host(m, FERRY_WRITE);
}

ferry_cref ferry_memory_device_data(const ferry_memory *m)
{
    return ferry_ref_const(on_home(m, FERRY_READ));
}

ferry_ref ferry_memory_mutable_device_data(ferry_memory *m)
{
    return on_home(m, FERRY_READ | FERRY_WRITE);
}

ferry_ref ferry_memory_overwrite_device_data(ferry_memory *m)
{
    return on_home(m, FERRY_WRITE);
}

/* ---- the other operations ---- */

/* Adopting: the old storage goes, the program's comes, and only it is valid. */
static int adopt_locked(struct ferry__request *req, ferry_ref ref, size_t bytes, bool readonly,
                        struct ferry__adopted *adopted)
{
    ferry_memory *m = req->m;
    struct ferry__replica *r;
    int err;

    if (bytes < m->used)
        return ferry__error(m->sliced ? FERRY_EPERM : FERRY_ESHAPE,
                            "adopt of %zu bytes where %zu are in use", bytes, m->used);
    /* where the bytes would be imported, there is nothing to share: this copy comes from elsewhere */
    if (req->where && ferry__device_is(req->where, FERRY_DEVICE_HOST_MEMORY))
        ferry__replica_try_alias(m, req->where, &req->after);
    if (ferry__replica_one_pointer(m) && m->on_host.storage == FERRY__STORAGE_ADOPTED &&
        m->on_host.adopted_at != req->slot && (!req->where || m->alias == req->slot)) {
        err = ferry__replica_separate(m); /* each side keeps what the program gave it */
        if (err)
            return err;
    }
    r = ferry__replica_of(m, req->where);
    if (!r)
        return FERRY_ENOMEM;
    err = ferry__coherence_claim(req, UINT32_C(1) << req->slot);
    if (err)
        return err;
    ferry__replica_drop(m, r, &req->after);
    ferry__replica_take(r, ref, bytes, req->slot, readonly, adopted);
    r->filled = bytes;
    m->size = bytes;
    m->lost = 0;
    if (!req->where)
        ferry__replica_share_host(m, &req->after);
    ferry__evict_withdraw(m);
    ferry__coherence_publish(m, req->valid);
    return 0;
}

int ferry_memory_adopt(ferry_memory *m, ferry_device *where, ferry_ref ref, size_t bytes,
                       unsigned flags, ferry_deleter deleter, void *arg)
{
    struct ferry__adopted *adopted = NULL;
    struct ferry__request req;
    int err;

    if (!m || !ref.handle)
        return ferry__error(FERRY_EINVAL, "ferry_memory_adopt: NULL %s",
                            m ? "reference" : "memory");
    if (flags & ~FERRY_ADOPT_READONLY)
        return ferry__error(FERRY_EINVAL, "ferry_memory_adopt: flags are %#x", flags);
    err = check_place(where, NULL);
    if (err)
        return err;
    if (deleter) {
        adopted = malloc(sizeof *adopted);
        if (!adopted)
            return ferry__error(FERRY_ENOMEM, "ferry_memory_adopt: no memory for its deleter");
        adopted->deleter = deleter;
        adopted->arg = arg;
    }
    begin(&req, m, where);
    err = adopt_locked(&req, ref, bytes, (flags & FERRY_ADOPT_READONLY) != 0, adopted);
    end(&req);
    if (err)
        free(adopted);
    return err;
}

int ferry_memory_prefetch(ferry_memory *m, ferry_device *where, ferry_queue *q)
{
    struct ferry__request req;
    int err;

    if (!m)
        return ferry__error(FERRY_EINVAL, "ferry_memory_prefetch: NULL memory");
    err = check_place(where, where ? q : NULL);
    if (!err && q)
        err = ferry__device_usable(q->device);
    if (err)
        return err;
    begin(&req, m, where);
    req.q = !where ? NULL : q ? q : &where->queue;
    req.hint = q;
    err = ferry__coherence_prefetch(&req);
    end(&req);
    return err;
}

/* Notes an event after the queue's work on the replica that is valid there. */
static int record_locked(struct ferry__request *req, ferry_queue *q)
{
    struct ferry__replica *r = ferry__replica_find(req->m, req->slot);
    bool write = (req->access & FERRY_WRITE) != 0;
    int failed = ferry__transfer_settle(req, req->slot);
    ferry_event *e;
    int err;

    if (failed) {
        ferry__coherence_publish(req->m, req->valid);
        return failed;
    }
    if (!(req->valid >> req->slot & 1))
        return ferry__error(FERRY_EUNINIT, "%s: record: it has no valid copy", q->device->name);
    err = ferry__uses_reserve(&r->uses, 2);
    if (!err)
        err = ferry__queue_mark(q, &e);
    if (err)
        return err;
    if (write)
        err = ferry__coherence_claim(req, UINT32_C(1) << req->slot);
    if (!err && e)
        ferry__uses_add(r->uses, e, q, write);
    ferry__event_release(e);
    ferry__coherence_publish(req->m, req->valid);
    return err;
}

int ferry_memory_record(ferry_memory *m, ferry_queue *q, unsigned access)
{
    struct ferry__request req;
    int err;

    if (!m || !q)
        return ferry__error(FERRY_EINVAL, "ferry_memory_record: NULL argument");
    if (!access || (access & ~(FERRY_READ | FERRY_WRITE)))
        return ferry__error(FERRY_EINVAL, "ferry_memory_record: access is %#x", access);
    err = ferry__device_usable(q->device);
    if (err)
        return err;
    begin(&req, m, q->device);
    req.access = access;
    err = record_locked(&req, q);
    end(&req);
    return err;
}

int ferry_memory_wont_use(ferry_memory *m)
{
    struct ferry__request req;

    if (!m)
        return ferry__error(FERRY_EINVAL, "ferry_memory_wont_use: NULL memory");
    begin(&req, m, NULL);
    if (!m->idle)
        ferry__evict_offer(m);
    ferry__coherence_publish(m, req.valid);
    end(&req);
    return 0;
}

int ferry_memory_invalidate(ferry_memory *m)
{
    struct ferry__request req;
    int err;

    if (!m)
        return ferry__error(FERRY_EINVAL, "ferry_memory_invalidate: NULL memory");
    begin(&req, m, NULL);
    err = ferry__coherence_claim(&req, 0);
    if (!err) {
        m->lost = 0;
        ferry__coherence_publish(m, 0);
    }
    end(&req);
    return err;
}

/* ---- questions ---- */

ferry_head ferry_memory_head(const ferry_memory *m)
{
    uint32_t valid = m ? ferry__coherence_valid(m) : 0;

    if (!valid)
        return FERRY_HEAD_UNINITIALIZED;
    if (!(valid & 1))
        return FERRY_HEAD_AT_DEVICE;
    return valid == 1 ? FERRY_HEAD_AT_HOST : FERRY_HEAD_SYNCED;
}

int ferry_memory_valid_at(const ferry_memory *m, const ferry_device *where)
{
    if (!m || (where && !where->slot))
        return 0;
    return (ferry__coherence_valid(m) >> (where ? where->slot : FERRY__HOST)) & 1;
}

size_t ferry_memory_size(const ferry_memory *m)
{
    return m ? m->size : 0;
}

ferry_device *ferry_memory_home(const ferry_memory *m)
{
    return m ? m->home : NULL;
}

/* ---- for blob.c ---- */

/* Copies that do not reach `bytes` go, if a longer one stays. */
static uint32_t long_enough(ferry_memory *m, uint32_t valid, size_t bytes)
{
    size_t longest = 0;
    uint32_t kept = 0;
    unsigned s;

    for (s = 0; s < FERRY__SLOTS; s++)
        if ((valid >> s & 1) && ferry__replica_find(m, s)->filled > longest)
            longest = ferry__replica_find(m, s)->filled;
    if (longest > bytes)
        longest = bytes;
    for (s = 0; s < FERRY__SLOTS; s++)
        if ((valid >> s & 1) && ferry__replica_find(m, s)->filled >= longest)
            kept |= UINT32_C(1) << s;
    return kept;
}

/* Of `holders` references those that are no blob's keep the bytes in use from shrinking. */
static void use(struct ferry__request *req, int holders, size_t bytes)
{
    ferry_memory *m = req->m;
    unsigned blobs = ferry__sharers_count(m->sharers);

    if (bytes == m->used || (bytes < m->used && holders > (blobs ? (int)blobs : 1)))
        return;
    if (bytes > m->used)
        req->valid = long_enough(m, req->valid, bytes);
    m->used = bytes;
    ferry__coherence_publish(m, req->valid);
}

void ferry__memory_set_used(ferry_memory *m, const void *who, size_t end_of_use)
{
    struct ferry__request req;

    if (end_of_use == m->used && !ferry__memory_shared(m))
        return;
    begin(&req, m, NULL);
    ferry__sharers_move(m->sharers, who, end_of_use);
    use(&req, atomic_load(&m->refs),
        ferry__sharers_count(m->sharers) ? ferry__sharers_end(m->sharers) : end_of_use);
    end(&req);
}

int ferry__memory_share(ferry_memory *m, const void *owner, size_t owner_end, const void *who,
                        size_t end_of_use)
{
    struct ferry__request req;
    bool noted;

    begin(&req, m, NULL);
    noted = ferry__sharers_put(&m->sharers, owner, owner_end) &&
            ferry__sharers_put(&m->sharers, who, end_of_use);
    end(&req);
    return noted ? 0
                 : ferry__error(FERRY_ENOMEM, "no memory to note who shares %zu bytes", owner_end);
}

void ferry__memory_leave(ferry_memory *m, const void *who)
{
    struct ferry__request req;

    if (m && ferry__memory_shared(m)) {
        begin(&req, m, NULL);
        ferry__sharers_drop(m->sharers, who);
        if (ferry__sharers_count(m->sharers))
            use(&req, atomic_load(&m->refs) - 1, ferry__sharers_end(m->sharers));
        end(&req);
    }
    ferry_memory_release(m);
}

void ferry__memory_set_sliced(ferry_memory *m)
{
    struct ferry__request req;

    begin(&req, m, NULL);
    m->sliced = 1;
    end(&req);
}

uint32_t ferry__memory_mark(const ferry_memory *m)
{
    return ferry__coherence_valid(m);
}

/*
 * Imported bytes go to the side that is to have them. Returns V; where they cannot be handed over,
 * what they are the copy of depends on who has them now.
 */
static uint32_t hand_back(struct ferry__request *req, uint32_t valid)
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

void ferry__memory_restore(ferry_memory *m, uint32_t mark, const ferry_device *where, bool intact)
{
    uint32_t touched = UINT32_C(1) << (where ? where->slot : FERRY__HOST);
    struct ferry__request req;

    begin(&req, m, NULL);
    if (!intact && (mark & ~touched))
        mark &= ~touched;
    else if (!intact)
        mark = touched;
    ferry__coherence_publish(m, hand_back(&req, mark));
    end(&req);
}

int ferry__memory_to(ferry_memory *m, ferry_device *home)
{
    struct ferry__request req;
    ferry_device *before;
    int err = ferry__device_usable(home);

    if (err)
        return err;
    if (m->home == home)
        return 0;
    begin(&req, m, NULL);
    before = ferry__replica_move_home(m, home);
    ferry__coherence_publish(m, req.valid);
    end(&req);
    ferry__device_release(before);
    return 0;
}

int ferry__memory_set_name(ferry_memory *m, const char *name, const char *suffix)
{
    struct ferry__request req;
    char *made = NULL, *before;

    if (name && name[0]) {
        size_t n = strlen(name), s = strlen(suffix);

        made = malloc(n + s + 1);
        if (!made)
            return ferry__error(FERRY_ENOMEM, "no memory for the name %s%s", name, suffix);
        memcpy(made, name, n);
        memcpy(made + n, suffix, s + 1);
    }
    begin(&req, m, NULL);
    before = m->name;
    m->name = made;
    end(&req);
    free(before);
    return 0;
}

int ferry__memory_whereabouts(const ferry_memory *m, ferry_device **out)
{
    uint32_t valid = ferry__coherence_valid(m);
    unsigned slot = m->home_slot;
    struct ferry__request req;

    if (!valid)
        return FERRY_EUNINIT;
    *out = NULL;
    if (valid == 1)
        return 0;
    if (valid >> slot & 1) {
        *out = m->home;
        return 0;
    }
    for (slot = FERRY__HOST + 1; !(valid >> slot & 1); slot++)
        ;
    begin(&req, (ferry_memory *)m, NULL); /* another reader may be adding a replica */
    *out = ferry__replica_device((ferry_memory *)m, slot);
    end(&req);
    return 0;
}
