/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/memory.h"

#include "core/coherence/coherence.h"
#include "core/coherence/idle.h"
#include "core/coherence/lost.h"
#include "core/base/fresh.h"
#include "core/base/log.h"
#include "core/coherence/uses.h"
#include "core/base/status.h"
#include "core/device/pool.h"
#include "core/device/section.h"
#include "core/device/trace_lanes.h"

#include <stdlib.h>
#include <string.h>

/* ---- the short way ---- */

/*
 * Fast paths for a memory's first access and for its release: the home computes synchronously in
 * the host's memory, only the host has touched the memory, and no bytes move. The general path, by
 * a request, has the same results.
 */

/* Whether the home computes synchronously in the host's memory and is ready. */
static bool home_is_plain(const ferry_memory *m)
{
    return m->alias == m->home_slot && ferry__device_is(m->home, FERRY_DEVICE_HOST_MEMORY) &&
           !m->home->events && ferry__device_ready(m->home) && !ferry__trace_is_on();
}

/*
 * Whether the memory was never accessed: it has no copy, no storage and no pending work, and is not
 * idle. The lock is held.
 */
static bool is_untouched(ferry_memory *m)
{
    return !atomic_load_explicit(&m->state, memory_order_relaxed) && !m->on_devices && !m->idle &&
           m->on_host.storage == FERRY__STORAGE_NONE && !m->on_host.uses;
}

/* Sets the state after a first access by the host. */
static void publish_first(ferry_memory *m, void *block, unsigned access)
{
    if (access & FERRY_READ)
        memset(block, 0, m->used);
    m->on_host.storage = FERRY__STORAGE_POOL;
    m->on_host.ref = (ferry_ref){ block, 0 };
    m->on_host.capacity = m->size;
    m->on_host.filled = m->used;
    m->on_host.failed = 0;
    m->on_host.owner = m->home;
    if (access & FERRY_WRITE)
        ferry__memory_count_write(m);
    m->host = block;
    m->home_ref = m->on_host.ref;
    atomic_store_explicit(&m->state, FERRY__VALID(FERRY__HOST), memory_order_release);
}

/*
 * The host's first access to an untouched memory: the home's cached block, filled with zeros unless
 * it is to be overwritten. False: nothing has changed, and the access takes the general path.
 */
static bool first_at_host(ferry_memory *m, unsigned access, ferry_ref *out)
{
    void *block = NULL;

    if (atomic_load_explicit(&m->state, memory_order_acquire) ||
        ferry__section_refuse("work on a memory") || ferry__request_lock(m, false))
        return false;
    if (is_untouched(m) && home_is_plain(m))
        block = ferry__pool_take(m->home, m->size);
    if (block) {
        publish_first(m, block, access);
        *out = m->home_ref;
    }
    pthread_mutex_unlock(&m->lock);
    return block != NULL;
}

/* Whether the memory has no storage and no pending work, and retains no device except its home. */
static bool has_nothing(const ferry_memory *m)
{
    return m->on_host.storage == FERRY__STORAGE_NONE && !m->on_host.uses && !m->on_devices &&
           (!m->alias || m->alias_device == m->home);
}

/*
 * Gives back the only block, if any, of a memory with no other reference. False: nothing has
 * changed.
 */
static bool give_back_first(ferry_memory *m)
{
    if (m->idle) /* an eviction may be at work on it */
        return false;
    if (has_nothing(m))
        return true;
    if (m->on_host.storage != FERRY__STORAGE_POOL || m->on_host.owner != m->home ||
        m->on_host.uses || m->on_devices || !home_is_plain(m))
        return false;
    ferry__pool_free(m->home, FERRY__POOL_DEVICE, m->on_host.ref.handle, m->on_host.capacity);
    return true;
}

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
    m->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* assigned instead of initialized by a
                                                           * call, because every first access comes
                                                           * here */
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

/* Waits for an eviction of this memory to end, and takes the memory off the list permanently. */
static void withdraw_for_good(ferry_memory *m)
{
    bool alone = !m->idle || ferry__device_forked(m->home);

    if (!alone)
        pthread_mutex_lock(&m->lock);
    ferry__idle_withdraw(m);
    if (!alone)
        pthread_mutex_unlock(&m->lock);
}

/* Frees everything but the deleters, which run after the memory itself was freed. */
static void let_go(ferry_memory *m, struct ferry__after_unlock *after)
{
    withdraw_for_good(m);
    ferry__log_hold();
    ferry__replica_drop_all(m, after);
    ferry__log_release();
}

void ferry_memory_release(ferry_memory *m)
{
    struct ferry__after_unlock after;
    ferry_device *home;
    bool at_once;

    /* the holder of the only reference need not decrement it: no other thread can see it */
    if (!m || (atomic_load_explicit(&m->refs, memory_order_acquire) != 1 &&
               atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1))
        return;
    after.first = NULL;
    at_once = give_back_first(m);
    if (!at_once)
        let_go(m, &after);
    home = m->home;
    pthread_mutex_destroy(&m->lock);
    if (m->sharers) /* tested because even free(NULL) costs a call */
        free(m->sharers);
    if (m->name)
        free(m->name);
    ferry__lane_forget_memory(m);
    free(m);
    if (!at_once)
        ferry__after_unlock_run(&after); /* a deleter may not return, and may need the device */
    ferry__device_release(home);
}

/* ---- the primitive and the accessors ---- */

/* Checks that the device can take part, and that the queue, if any, belongs to it. */
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

/*
 * Accesses the home's copy without the lock, on the default queue or where the device is
 * synchronous, as the accessors do.
 */
static bool access_at_once(ferry_memory *m, ferry_device *where, unsigned access, ferry_queue *q)
{
    return where == m->home && (!q || q == &where->queue || !where->events) &&
           !(access & FERRY_NOWAIT) && ferry__device_ready(where) && !ferry__section_is_on() &&
           ferry__memory_device_at_once(m, access);
}

static int access_memory(ferry_memory *m, ferry_device *where, unsigned access, ferry_queue *q,
                         ferry_ref *out)
{
    struct ferry__request req;
    int err;

    if (!where && !q && !(access & FERRY_NOWAIT) && first_at_host(m, access, out))
        return 0;
    err = check_place(where, q);
    if (!err && access_at_once(m, where, access, q)) {
        *out = m->home_ref;
        return 0;
    }
    if (!err)
        err = ferry__request_begin(&req, m, where, (access & FERRY_NOWAIT) != 0);
    if (err)
        return err;
    req.q = where && !q ? &where->queue : q;
    req.access = access & (FERRY_READ | FERRY_WRITE);
    req.reason = access & FERRY_WRITE ? FERRY__WRITE_MISS : FERRY__READ_MISS;
    err = ferry__coherence_access(&req, out);
    ferry__request_end(&req);
    if (!err && !where) /* the program's block may begin at an offset */
        *out = (ferry_ref){ (char *)out->handle + out->offset, 0 };
    return err;
}

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

    return access_memory(m, NULL, access, NULL, &ref) ? NULL : ref.handle;
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

/* Adopts the program's memory: it replaces the old storage, and becomes the only valid copy. */
static int adopt_locked(struct ferry__request *req, ferry_ref ref, size_t bytes, bool readonly,
                        struct ferry__adopted *adopted)
{
    ferry_memory *m = req->m;
    struct ferry__replica *r;
    bool parts;
    int err;

    if (bytes < m->used)
        return ferry__error(m->sliced ? FERRY_EPERM : FERRY_ESHAPE,
                            "%s: adopt of %zu bytes where %zu are in use",
                            req->where ? req->where->name : "host", bytes, m->used);
    /*
     * a device that imports has nothing to share here, since this copy is not in the host's block
     */
    if (req->where && ferry__device_is(req->where, FERRY_DEVICE_HOST_MEMORY))
        ferry__replica_try_alias(m, req->where, &req->after);
    parts = ferry__replica_one_pointer(m) && m->on_host.storage == FERRY__STORAGE_ADOPTED &&
            m->on_host.adopted_at != req->slot && (!req->where || m->alias == req->slot);
    if (!parts && !ferry__replica_of(m, req->where))
        return FERRY_ENOMEM;
    err = ferry__valid_claim(req, UINT32_C(1) << req->slot);
    if (!err && parts) /* each side keeps the memory that the program passed for it */
        err = ferry__replica_separate(m);
    if (err)
        return err;
    r = ferry__replica_find(m, req->slot);
    ferry__replica_drop(m, r, &req->after);
    ferry__replica_take(r, ref, bytes, req->slot, readonly, adopted);
    *ferry__replica_filled(m, req->slot) = bytes;
    m->size = bytes;
    m->lost = 0;
    ferry__memory_renew(m);
    if (!req->where)
        ferry__replica_share_host(m, &req->after);
    ferry__idle_withdraw(m);
    ferry__valid_publish(m, req->valid);
    return 0;
}

int ferry_memory_adopt(ferry_memory *m, ferry_device *where, ferry_ref ref, size_t bytes,
                       unsigned flags, ferry_memory_deleter deleter, void *arg)
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
    err = ferry__request_begin(&req, m, where, false);
    if (!err) {
        err = adopt_locked(&req, ref, bytes, (flags & FERRY_ADOPT_READONLY) != 0, adopted);
        ferry__request_end(&req);
    }
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
    if (!err)
        err = ferry__request_begin(&req, m, where, false);
    if (err)
        return err;
    req.q = !where ? NULL : q ? q : &where->queue;
    req.hint = q;
    err = ferry__coherence_prefetch(&req);
    ferry__request_end(&req);
    return err;
}

int ferry_memory_allow_eviction(ferry_memory *m)
{
    struct ferry__request req;
    int err;

    if (!m)
        return ferry__error(FERRY_EINVAL, "ferry_memory_allow_eviction: NULL memory");
    err = ferry__request_begin(&req, m, NULL, false);
    if (err)
        return err;
    if (!m->idle)
        ferry__evict_offer(m);
    ferry__valid_publish(m, req.valid);
    ferry__request_end(&req);
    return 0;
}

int ferry_memory_discard(ferry_memory *m)
{
    struct ferry__request req;
    int err;

    if (!m)
        return ferry__error(FERRY_EINVAL, "ferry_memory_discard: NULL memory");
    err = ferry__request_begin(&req, m, NULL, false);
    if (err)
        return err;
    err = ferry__valid_claim(&req, 0);
    if (!err) {
        m->lost = 0;
        ferry__memory_renew(m);
        ferry__valid_publish(m, 0);
    }
    ferry__request_end(&req);
    return err;
}

void ferry_memory_mark_lost(ferry_memory *m)
{
    struct ferry__request req;

    if (!m || ferry__request_begin(&req, m, NULL, false))
        return;
    if (!ferry__valid_claim(&req, 0)) {
        m->lost = FERRY__LOST_MARKED;
        ferry__memory_renew(m);
        ferry__valid_publish(m, 0);
    }
    ferry__request_end(&req);
}

/* ---- questions ---- */

ferry_memory_head_state ferry_memory_head(const ferry_memory *m)
{
    uint32_t valid = m ? ferry__coherence_valid(m) : 0;

    if (!valid)
        return FERRY_HEAD_UNINITIALIZED;
    if (!(valid & 1))
        return FERRY_HEAD_AT_DEVICE;
    return valid == 1 ? FERRY_HEAD_AT_HOST : FERRY_HEAD_SYNCED;
}

bool ferry_memory_is_valid_at(const ferry_memory *m, const ferry_device *where)
{
    if (!m || (where && !where->slot))
        return 0;
    return (ferry__coherence_valid(m) >> (where ? where->slot : FERRY__HOST)) & 1;
}

uint64_t ferry_memory_version(const ferry_memory *m)
{
    return m ? atomic_load_explicit(&m->version, memory_order_relaxed) : 0;
}

size_t ferry_memory_size(const ferry_memory *m)
{
    return m ? m->size : 0;
}

size_t ferry_memory_used(const ferry_memory *m)
{
    return m ? m->used : 0;
}

ferry_device *ferry_memory_home(const ferry_memory *m)
{
    return m ? m->home : NULL;
}
