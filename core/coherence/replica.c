/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/replica.h"

#include "core/base/fresh.h"
#include "core/base/log.h"
#include "core/coherence/uses.h"
#include "core/device/pool.h"
#include "core/device/section.h"
#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

/* The address that accessors of a memory of 0 bytes return: valid, not NULL. */
static _Alignas(64) char nowhere[64];

/* How many deleters of a thread run within each other; the innermost call runs deeper ones. */
#define NESTED_DELETERS 16

/*
 * The frames of this thread's run_deleters, outermost first. A deleter that does not return
 * (longjmp) leaves its entry, which a call at or above that frame of the stack removes.
 */
static _Thread_local struct {
    char *frame[NESTED_DELETERS];
    int count;
} running;

static bool may_nest(const char *frame)
{
    while (running.count && (uintptr_t)running.frame[running.count - 1] <= (uintptr_t)frame)
        running.count--;
    return running.count < NESTED_DELETERS;
}

/* If a deleter does not return (longjmp), this thread's next call runs the others. */
static __attribute__((noinline)) void run_deleters(struct ferry__after_unlock *owed)
{
    struct ferry__adopted *next;
    char *frame = __builtin_frame_address(0);
    int outer;

    if (!may_nest(frame))
        return;
    outer = running.count;
    while ((next = owed->first)) {
        struct ferry__adopted a = *next;

        running.frame[outer] = frame;
        running.count = outer + 1;
        owed->first = next->next;
        free(next);
        a.deleter(a.arg);
    }
    running.count = outer;
}

void ferry__after_unlock_move(struct ferry__after_unlock *to, struct ferry__after_unlock *from)
{
    struct ferry__adopted **end = &from->first;

    while (*end)
        end = &(*end)->next;
    *end = to->first;
    to->first = from->first;
    from->first = NULL;
}

struct ferry__after_unlock *ferry__after_unlock_owed(void)
{
    static _Thread_local struct ferry__after_unlock owed;

    return &owed;
}

void ferry__after_unlock_finish(void)
{
    struct ferry__after_unlock *owed = ferry__after_unlock_owed();

    if (owed->first && !ferry__log_is_held())
        run_deleters(owed);
}

void ferry__after_unlock_run(struct ferry__after_unlock *after)
{
    ferry__after_unlock_move(ferry__after_unlock_owed(), after);
    ferry__after_unlock_finish();
}

static void delete_later(struct ferry__after_unlock *after, struct ferry__replica *r)
{
    if (r->adopted) {
        r->adopted->next = after->first;
        after->first = r->adopted;
    }
    r->adopted = NULL;
}

/* ---- finding ---- */

static struct ferry__device_replica *find_on_device(ferry_memory *m, unsigned slot)
{
    struct ferry__device_replica *d = m->on_devices;

    while (d && d->r.slot != slot)
        d = d->next;
    return d;
}

struct ferry__replica *ferry__replica_find(ferry_memory *m, unsigned slot)
{
    struct ferry__device_replica *d;

    if (slot == FERRY__HOST || ferry__replica_is_host_pointer(m, slot))
        return &m->on_host;
    d = find_on_device(m, slot);
    return d ? &d->r : NULL;
}

ferry_device *ferry__replica_device(ferry_memory *m, unsigned slot)
{
    struct ferry__device_replica *d;

    if (slot == FERRY__HOST)
        return NULL;
    if (m->alias == slot)
        return m->alias_device;
    d = find_on_device(m, slot);
    return d ? d->device : NULL;
}

struct ferry__replica *ferry__replica_of(ferry_memory *m, ferry_device *where)
{
    struct ferry__replica *r = ferry__replica_find(m, where ? where->slot : FERRY__HOST);
    struct ferry__device_replica *d;

    if (r)
        return r;
    d = ferry__fresh(sizeof *d);
    if (!d) {
        ferry__error(FERRY_ENOMEM, "%s: no memory for a replica", where->name);
        return NULL;
    }
    d->r.slot = (uint8_t)where->slot;
    d->device = ferry__device_retain(where);
    d->next = m->on_devices;
    m->on_devices = d;
    return &d->r;
}

/* ---- references ---- */

/* Retains a device that the memory points at, once per pointer. The home is retained separately. */
static ferry_device *keep(const ferry_memory *m, ferry_device *dev)
{
    return dev && dev != m->home ? ferry__device_retain(dev) : dev;
}

static void let_go(const ferry_memory *m, ferry_device *dev)
{
    if (dev != m->home)
        ferry__device_release(dev);
}

/* Adjusts the reference of a pointer whose device becomes the home, or ceases to be the home. */
static void change_keeper(ferry_device *kept, ferry_device *before, ferry_device *home)
{
    if (kept == home)
        ferry__device_release(home);
    if (kept == before)
        ferry__device_retain(before);
}

static ferry_device *owner_of(const struct ferry__replica *r)
{
    bool owned = r->storage == FERRY__STORAGE_POOL || r->storage == FERRY__STORAGE_PINNED;

    return owned ? r->owner : NULL;
}

ferry_device *ferry__replica_move_home(ferry_memory *m, ferry_device *home)
{
    struct ferry__device_replica *d;
    ferry_device *before = m->home;

    m->home = ferry__device_retain(home);
    m->home_slot = (uint8_t)home->slot;
    change_keeper(m->alias_device, before, home);
    change_keeper(owner_of(&m->on_host), before, home);
    for (d = m->on_devices; d; d = d->next)
        change_keeper(owner_of(&d->r), before, home);
    return before;
}

/* ---- storage ---- */

/* Sets the replica's storage; takes over one reference to `owner`. */
static void set_storage(struct ferry__replica *r, uint8_t kind, void *handle, size_t capacity,
                        ferry_device *owner)
{
    r->storage = kind;
    r->ref.handle = handle;
    r->ref.offset = 0;
    r->capacity = capacity;
    r->filled = 0;
    r->readonly = 0;
    r->failed = 0;
    r->owner = owner;
}

void ferry__replica_take(struct ferry__replica *r, ferry_ref ref, size_t bytes, unsigned slot,
                         bool readonly, struct ferry__adopted *adopted)
{
    set_storage(r, FERRY__STORAGE_ADOPTED, ref.handle, bytes, NULL);
    r->ref.offset = ref.offset;
    r->readonly = readonly;
    r->adopted_at = (uint8_t)slot;
    r->adopted = adopted;
}

/*
 * Frees a pool's block in a forked child, without the pool: a thread of the parent may have held
 * its lock.
 */
static void free_in_child(struct ferry__replica *r)
{
    const ferry_device *owner = r->owner;

    if (r->storage == FERRY__STORAGE_POOL && ferry__device_is(owner, FERRY_DEVICE_HOST_MEMORY))
        owner->ops->free(owner->dev, NULL, r->ref.handle);
    else if (r->storage == FERRY__STORAGE_PINNED &&
             (ferry__device_is(owner, FERRY_DEVICE_HOST_MEMORY) ||
              !(owner->plugin->given & FERRY__GIVEN_HOST)))
        owner->ops->host_free(owner->dev, r->ref.handle);
}

static void give_back(struct ferry__replica *r)
{
    enum ferry__pool_kind kind =
        r->storage == FERRY__STORAGE_PINNED ? FERRY__POOL_PINNED : FERRY__POOL_DEVICE;

    if (ferry__device_forked(r->owner))
        free_in_child(r);
    else
        ferry__pool_free(r->owner, kind, r->ref.handle, r->capacity);
}

/*
 * Waits until all users of the replica are done, except the default queue of the pool's device,
 * which the pool considers.
 */
static void outlive_uses(ferry_memory *m, struct ferry__replica *r)
{
    bool pooled = r->storage == FERRY__STORAGE_POOL;
    ferry_device *where = ferry__replica_device(m, r->slot);
    ferry_event *e = NULL;

    if (pooled && where && !ferry__device_forked(where)) {
        if (ferry__uses_order(r->uses, FERRY__AFTER_ALL, &where->queue))
            ferry__uses_outlive(r->uses);
    } else {
        ferry__uses_outlive(r->uses);
        /*
         * the owner of adopted or imported memory may use it at once, so the default queue has to
         * be done too
         */
        if (where && r->ref.handle && !ferry__device_forked(where)) {
            if (ferry__section_mark(&where->queue, &e))
                where->ops->queue_synchronize(where->dev, NULL);
            else if (e)
                ferry_event_synchronize(e);
            ferry__event_release(e);
        }
    }
    ferry__uses_clear(r->uses);
}

/* Ends an import, after all work on the block has ended, successfully or not. */
static void end_import(ferry_memory *m, struct ferry__replica *r, ferry_device *where)
{
    ferry__uses_outlive(m->on_host.uses);
    if (m->mapped && ferry__queue_unmap(&where->queue, r->ref.handle, m->name))
        ferry__queue_unmap(&where->queue, r->ref.handle, m->name); /* if both fail, unimport_host
                                                                    * ends the map */
    where->ops->unimport_host(where->dev, r->ref.handle);
}

void ferry__replica_drop(ferry_memory *m, struct ferry__replica *r,
                         struct ferry__after_unlock *after)
{
    ferry_device *where = ferry__replica_device(m, r->slot);

    if (r->slot == FERRY__HOST && m->alias && ferry__replica_is_imported(m, m->alias))
        ferry__replica_drop(m, ferry__replica_find(m, m->alias), after);
    if (r->storage == FERRY__STORAGE_EMPTY) /* an empty replica has no bytes that pending work could
                                             * use */
        ferry__uses_clear(r->uses);
    else if (r->storage != FERRY__STORAGE_NONE)
        outlive_uses(m, r);
    switch (r->storage) {
    case FERRY__STORAGE_POOL:
    case FERRY__STORAGE_PINNED:
        give_back(r);
        break;
    case FERRY__STORAGE_PLAIN:
        free(r->ref.handle);
        break;
    case FERRY__STORAGE_ADOPTED:
        delete_later(after, r);
        break;
    case FERRY__STORAGE_IMPORTED:
        if (!ferry__device_forked(where))
            end_import(m, r, where);
        ferry__replica_set_alias(m, NULL);
        break;
    default:
        break;
    }
    let_go(m, owner_of(r));
    r->owner = NULL;
    r->storage = FERRY__STORAGE_NONE;
    r->ref.handle = NULL;
    r->readonly = 0;
    r->capacity = r->filled = 0;
}

void ferry__replica_drop_readonly(ferry_memory *m, struct ferry__replica *r, uint32_t valid,
                                  struct ferry__after_unlock *after)
{
    uint32_t held = UINT32_C(1) << r->slot;

    if (r == &m->on_host && ferry__replica_one_pointer(m))
        held |= UINT32_C(1) << m->alias;
    if (r->readonly && !(valid & held))
        ferry__replica_drop(m, r, after);
}

/* `bytes` of a host block that the home may import: rounded up if the home is unified. */
static size_t importable_size(const ferry_memory *m, size_t bytes)
{
    size_t a = (size_t)m->home->host_alignment;
    size_t rest = a && ferry__device_is(m->home, FERRY_DEVICE_UNIFIED) ? bytes % a : 0;

    return rest && bytes <= SIZE_MAX - a ? bytes - rest + a : bytes;
}

/* A request for storage. */
struct supply {
    ferry_device *where; /* NULL: the host */
    ferry_queue *q;
    size_t bytes;
    bool evicts; /* other memories may be evicted for it */
};

/* Allocates ordinary host memory as a replacement for memory of a lost device. */
static int provide_plain(struct ferry__replica *r, const struct supply *s, bool *zeroed)
{
    void *block = NULL;

    if (posix_memalign(&block, 64, s->bytes))
        return ferry__error(FERRY_ENOMEM, "host: alloc of %zu bytes", s->bytes);
    *zeroed = false;
    set_storage(r, FERRY__STORAGE_PLAIN, block, s->bytes, NULL);
    return 0;
}

static int provide_host(ferry_memory *m, struct ferry__replica *r, const struct supply *s,
                        bool *zeroed)
{
    bool shared = ferry__replica_one_pointer(m);
    ferry_device *from = shared ? m->alias_device : m->home;
    size_t size = shared ? s->bytes : importable_size(m, s->bytes);
    void *block;
    int err = ferry__pool_alloc(from, shared ? FERRY__POOL_DEVICE : FERRY__POOL_PINNED,
                                &from->queue, size, s->evicts, zeroed, &block);

    if (err)
        return ferry__device_lost(from) ? provide_plain(r, s, zeroed) : err;
    set_storage(r, shared ? FERRY__STORAGE_POOL : FERRY__STORAGE_PINNED, block, size,
                keep(m, from));
    return 0;
}

static int provide(ferry_memory *m, struct ferry__replica *r, const struct supply *s, bool *zeroed)
{
    void *block;
    int err;

    if (s->bytes == 0) {
        set_storage(r, FERRY__STORAGE_EMPTY, nowhere, 0, NULL);
        return 0;
    }
    if (r->slot == FERRY__HOST)
        return provide_host(m, r, s, zeroed);
    err = ferry__pool_alloc(s->where, FERRY__POOL_DEVICE, s->q, s->bytes, s->evicts, zeroed,
                            &block);
    if (err)
        return err;
    set_storage(r, FERRY__STORAGE_POOL, block, s->bytes, keep(m, s->where));
    return 0;
}

int ferry__replica_provide(ferry_memory *m, struct ferry__replica *r, ferry_device *where,
                           ferry_queue *q, bool *zeroed, bool *fresh,
                           struct ferry__after_unlock *after)
{
    bool fits = ferry__pool_could_hold(where ? where : m->home, m->size);
    struct supply s = { where, q, m->size, fits || m->used == m->size };
    int err;

    *fresh = false;
    if (r->ref.handle && r->capacity >= ferry__memory_wanted(m))
        return 0;
    if (r->ref.handle)
        ferry__replica_drop(m, r, after);
    *fresh = true;
    err = provide(m, r, &s, zeroed);
    if (err != FERRY_ENOMEM || fits || m->used == m->size)
        return err;
    s.bytes = m->used; /* a larger shape before may have been too large for the device */
    s.evicts = true;
    err = provide(m, r, &s, zeroed);
    if (!err)
        m->is_short = true;
    return err;
}

void ferry__replica_drop_all(ferry_memory *m, struct ferry__after_unlock *after)
{
    struct ferry__device_replica *d;

    while ((d = m->on_devices)) {
        ferry__replica_drop(m, &d->r, after);
        m->on_devices = d->next;
        ferry__device_release(d->device);
        ferry__uses_free(d->r.uses);
        free(d);
    }
    ferry__replica_drop(m, &m->on_host, after);
    ferry__uses_free(m->on_host.uses);
    ferry__replica_set_alias(m, NULL);
}

size_t ferry__replica_longest(ferry_memory *m, uint32_t slots)
{
    size_t longest = 0;

    for (; slots; slots &= slots - 1) {
        size_t filled = *ferry__replica_filled(m, (unsigned)__builtin_ctz(slots));

        longest = filled > longest ? filled : longest;
    }
    return longest;
}

/* ---- sharing bytes between host and device ---- */

void ferry__replica_set_alias(ferry_memory *m, ferry_device *dev)
{
    ferry_device *before = m->alias_device;

    m->alias_device = keep(m, dev);
    m->alias = dev ? (uint8_t)dev->slot : 0;
    m->mapped = 0;
    let_go(m, before);
}

/* Whether the device can import the host's block with its address and size. */
static bool is_importable(const ferry_device *dev, const struct ferry__replica *host)
{
    uint64_t a = dev->host_alignment ? dev->host_alignment : 1;

    return host->capacity &&
           ((uintptr_t)host->ref.handle + host->ref.offset) % a == 0 && host->capacity % a == 0 &&
           host->capacity <= dev->max_block;
}

int ferry__replica_separate(ferry_memory *m)
{
    ferry_device *dev = m->alias_device;
    struct ferry__device_replica *d = ferry__fresh(sizeof *d);

    if (!d)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for a replica", dev->name);
    d->device = ferry__device_retain(dev);
    if (m->on_host.storage == FERRY__STORAGE_ADOPTED && m->on_host.adopted_at == dev->slot) {
        d->r = m->on_host;
        d->r.filled = m->alias_filled;
        memset(&m->on_host, 0, sizeof m->on_host);
    }
    d->r.slot = (uint8_t)dev->slot;
    d->next = m->on_devices;
    m->on_devices = d;
    ferry__replica_set_alias(m, NULL);
    return 0;
}

/*
 * Imports the host's block under a handle of the device; the bytes then belong to the device until
 * they are mapped, so pending copies from the host's block have to be done.
 */
static void import(ferry_memory *m, ferry_device *where, struct ferry__replica *r)
{
    char *p = (char *)m->on_host.ref.handle + m->on_host.ref.offset;
    void *handle;

    if (ferry__uses_order(m->on_host.uses, FERRY__AFTER_ALL, NULL) ||
        where->ops->import_host(where->dev, p, m->on_host.capacity, 0, &handle))
        return; /* the device and the host then have separate copies, as for a discrete device */
    set_storage(r, FERRY__STORAGE_IMPORTED, handle, m->on_host.capacity, NULL);
    r->filled = m->on_host.filled;
    ferry__replica_set_alias(m, where);
}

void ferry__replica_try_alias(ferry_memory *m, ferry_device *where,
                              struct ferry__after_unlock *after)
{
    struct ferry__replica *r;
    bool zeroed = false, fresh;

    if (m->alias || m->size == 0)
        return;
    if (ferry__device_is(where, FERRY_DEVICE_HOST_MEMORY)) {
        if (!find_on_device(m, where->slot))
            ferry__replica_set_alias(m, where);
        return;
    }
    if (!ferry__device_is(where, FERRY_DEVICE_UNIFIED))
        return;
    r = ferry__replica_of(m, where);
    if (!r || r->ref.handle || m->on_host.readonly)
        return;
    if (!m->on_host.ref.handle &&
        ferry__replica_provide(m, &m->on_host, NULL, NULL, &zeroed, &fresh, after))
        return;
    if (is_importable(where, &m->on_host))
        import(m, where, r);
}

void ferry__replica_share_host(ferry_memory *m, struct ferry__after_unlock *after)
{
    if (m->alias || !ferry__device_is(m->home, FERRY_DEVICE_UNIFIED) ||
        ferry__device_is(m->home, FERRY_DEVICE_HOST_MEMORY))
        return;
    ferry__replica_try_alias(m, m->home, after);
    if (m->alias && ferry__replica_map(m, FERRY_READ | FERRY_WRITE))
        ferry__replica_drop(m, ferry__replica_find(m, m->alias), after);
}

/* Waits for, or orders, the pending work that must precede the handover of the bytes. */
static int before_handover(ferry_memory *m, struct ferry__replica *r, ferry_queue *q, unsigned want)
{
    enum ferry__after after = want == FERRY_READ ? FERRY__AFTER_WRITERS : FERRY__AFTER_ALL;
    int err = ferry__uses_order(r->uses, after, q);

    if (!err)
        err = ferry__uses_order(m->on_host.uses, FERRY__AFTER_ALL, NULL);
    return err;
}

/*
 * Waits for the queue, for a plugin without a map entry. A failure is attributed to the memories
 * that the failed work used.
 */
static void await_queue(ferry_queue *q)
{
    ferry_event *e = NULL;

    if (ferry__section_mark(q, &e))
        ferry__queue_settle(q->device, q->handle);
    else if (e)
        ferry_event_synchronize(e);
    ferry__event_release(e);
}

int ferry__replica_map(ferry_memory *m, unsigned want)
{
    struct ferry__replica *r = ferry__replica_find(m, m->alias);
    ferry_device *where = m->alias_device;
    ferry_queue *q = &where->queue;
    uint8_t before = m->mapped;
    int err;

    if (before == want)
        return 0;
    err =
        ferry__device_forked(where) ? ferry__device_usable(where) : before_handover(m, r, q, want);
    if (err)
        return err;
    if (want & ~(unsigned)before && !(where->plugin->given & FERRY__GIVEN_MAP))
        await_queue(q);
    /* a change of access keeps the block mapped, since other threads may be reading it */
    err = want ? ferry__queue_map(q, r->ref.handle, r->capacity, want, m->name)
               : ferry__queue_unmap(q, r->ref.handle, m->name);
    if (!err)
        m->mapped = (uint8_t)want;
    return err;
}
