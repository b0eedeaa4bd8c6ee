/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/pool.h"

#include "core/device/section.h"
#include "core/base/status.h"
#include "core/plugin/host.h"
#include "core/device/trace.h"

#include <inttypes.h>
#include <stdlib.h>

/*
 * Size classes: multiples of 32 bytes to 512, then four to each power of two, so that no block
 * wastes more than a quarter; from 8 MiB on eight, since large pages make the waste resident. Sizes
 * beyond the last class are requested from the plugin unrounded, and not cached.
 */
#define SMALL_CLASSES 16u
#define FINE_LOG      23u
#define FINE_FIRST    (SMALL_CLASSES + 4u * (FINE_LOG - 9u))
#define CLASSES       (FINE_FIRST + 8u * (40u - FINE_LOG))
#define LARGE         (UINT64_C(1) << 20)

/* A cached block. Its record is kept when the block is handed out again. */
struct block {
    struct block *next;
    void *memory;
    ferry_event *event; /* work on the default queue that may still use the block; NULL: none */
};

struct ferry__pool {
    ferry_device *dev;
    pthread_mutex_t lock, trim_lock; /* trim_lock is taken first, and held while trim waits */
    struct block *cached[2][CLASSES];
    struct block *spare;
    uint64_t cached_bytes, limit; /* both kinds together */
    uint64_t live;                /* device blocks handed out */
    _Atomic uint64_t budget;      /* for device blocks; 0: none */
    atomic_bool zero_pages;       /* the plugin returns large blocks that are zero already */
};

/* The function that evicts memory in use, or NULL. */
static _Atomic(ferry__pool_relief) relief;

void ferry__pool_set_relief(ferry__pool_relief fn)
{
    atomic_store_explicit(&relief, fn, memory_order_release);
}

static void (*_Atomic lent_trim)(ferry_device *dev); /* set while the first device opens */

void ferry__pool_set_lent(void (*trim)(ferry_device *dev))
{
    atomic_store_explicit(&lent_trim, trim, memory_order_release);
}

static uint64_t make_room(ferry_device *dev, uint64_t bytes)
{
    ferry__pool_relief fn = atomic_load_explicit(&relief, memory_order_acquire);

    return fn ? fn(dev, bytes) : 0;
}

static unsigned class_of(uint64_t bytes, uint64_t *rounded)
{
    unsigned log, each, first;
    uint64_t step;

    if (bytes <= 32 * SMALL_CLASSES) {
        *rounded = (bytes + 31) & ~UINT64_C(31);
        return (unsigned)(*rounded / 32) - 1;
    }
    log = 63u - (unsigned)__builtin_clzll(bytes - 1); /* bytes − 1, because a power of two is the
                                                       * last size of its class */
    each = log < FINE_LOG ? 4 : 8;
    first = log < FINE_LOG ? SMALL_CLASSES + 4 * (log - 9) : FINE_FIRST + 8 * (log - FINE_LOG);
    step = (UINT64_C(1) << log) / each;
    *rounded = (bytes + step - 1) & ~(step - 1);
    return first + (unsigned)((*rounded - (UINT64_C(1) << log)) / step) - 1;
}

/*
 * The default limit of the cache: enough for steady reuse, and a small part of the device's memory.
 * A large device with its own memory caches a sixteenth of it.
 */
static uint64_t default_limit(const ferry_device *dev)
{
    uint64_t total = dev->opened.properties.memory_total, least = UINT64_C(1) << 30;
    bool is_shared = ferry__device_is(dev, FERRY_DEVICE_HOST_MEMORY) ||
                     ferry__device_is(dev, FERRY_DEVICE_UNIFIED);

    if (total && total / 4 < least)
        least = total / 4;
    return is_shared || total / 16 < least ? least : total / 16;
}

int ferry__pool_create(ferry_device *dev, uint64_t limit, uint64_t budget, struct ferry__pool **out)
{
    struct ferry__pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for its pool", dev->name);
    pool->dev = dev;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->trim_lock, NULL);
    pool->limit = limit == UINT64_MAX ? default_limit(dev) : limit;
    pool->budget = budget;
    *out = pool;
    return 0;
}

/* ---- the plugin ---- */

static int plugin_alloc(ferry_device *dev, enum ferry__pool_kind kind, ferry_queue *q,
                        uint64_t bytes, bool *zeroed, void **out)
{
    uint32_t flags = *zeroed ? FERRY_ALLOC_ZERO : 0, out_flags = 0;
    void *block = NULL;
    int err = kind == FERRY__POOL_DEVICE
                  ? dev->ops->alloc(dev->dev, q->handle, bytes, flags, &block, &out_flags)
                  : ferry__device_host_alloc(dev, bytes, flags, &block, &out_flags);

    if (!err && !block)
        err = ferry__host_blame("it returned 0 and no block");
    if (err)
        return err;
    *zeroed = (out_flags & FERRY_ALLOC_WAS_ZEROED) != 0;
    *out = block;
    return 0;
}

static void plugin_free(ferry_device *dev, enum ferry__pool_kind kind, void *block)
{
    if (kind == FERRY__POOL_DEVICE)
        dev->ops->free(dev->dev, NULL, block);
    else
        dev->ops->host_free(dev->dev, block);
}

/* ---- the cache; its lock is held ---- */

static void forget_event(struct block *b, bool wait)
{
    if (b->event && wait)
        ferry_event_synchronize(b->event);
    ferry__event_release(b->event);
    b->event = NULL;
}

static void recycle(struct ferry__pool *pool, struct block *b)
{
    b->next = pool->spare;
    pool->spare = b;
}

static struct block *take_cached(struct ferry__pool *pool, enum ferry__pool_kind kind,
                                 unsigned class, uint64_t rounded)
{
    struct block *b = class < CLASSES ? pool->cached[kind][class] : NULL;

    if (b) {
        pool->cached[kind][class] = b->next;
        pool->cached_bytes -= rounded;
    }
    return b;
}

/* Takes all cached blocks of a kind out of the cache, as one list. */
static struct block *detach(struct ferry__pool *pool, unsigned kind)
{
    struct block *all = NULL, *b;
    unsigned class;

    for (class = 0; class < CLASSES; class ++)
        while ((b = pool->cached[kind][class])) {
            pool->cached[kind][class] = b->next;
            b->next = all;
            all = b;
        }
    return all;
}

/*
 * Frees the cached blocks. It waits for blocks that may be in use; meanwhile other threads
 * allocate and free with an empty cache. The bytes of the blocks count until they are freed.
 */
static void empty(struct ferry__pool *pool)
{
    struct block *all[2], *b;
    uint64_t bytes;
    unsigned kind;

    pthread_mutex_lock(&pool->trim_lock);
    pthread_mutex_lock(&pool->lock);
    for (kind = 0; kind < 2; kind++)
        all[kind] = detach(pool, kind);
    bytes = pool->cached_bytes;
    pthread_mutex_unlock(&pool->lock);
    for (kind = 0; kind < 2; kind++)
        for (b = all[kind]; b; b = b->next) {
            forget_event(b, true);
            plugin_free(pool->dev, (enum ferry__pool_kind)kind, b->memory);
        }
    pthread_mutex_lock(&pool->lock);
    for (kind = 0; kind < 2; kind++)
        while ((b = all[kind])) {
            all[kind] = b->next;
            recycle(pool, b);
        }
    pool->cached_bytes -= bytes;
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->trim_lock);
}

int ferry__pool_trim(struct ferry__pool *pool)
{
    void (*trim)(ferry_device * dev) = atomic_load_explicit(&lent_trim, memory_order_acquire);
    int err;

    if (trim)
        trim(pool->dev);
    empty(pool);
    err = pool->dev->ops->trim(pool->dev->dev);
    return err ? ferry__device_fail(pool->dev, "trim", UINT64_MAX, err) : 0;
}

void ferry__pool_relieve(struct ferry__pool *pool, uint64_t bytes)
{
    if (bytes)
        make_room(pool->dev, bytes);
    (void)ferry__pool_trim(pool);
}

void ferry__pool_destroy(struct ferry__pool *pool)
{
    struct block *b;

    if (!pool)
        return;
    empty(pool);
    while ((b = pool->spare)) {
        pool->spare = b->next;
        free(b);
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->trim_lock);
    free(pool);
}

/* ---- accounts ---- */

/* `reserved`: the bytes are counted as live already. */
static void count_alloc(struct ferry__pool *pool, enum ferry__pool_kind kind, uint64_t bytes,
                        bool hit, bool reserved)
{
    struct ferry__counters *c = &pool->dev->stats;
    uint64_t live = atomic_load_explicit(&c->live_bytes, memory_order_relaxed) + bytes;

    atomic_store_explicit(&c->live_bytes, live, memory_order_relaxed);
    if (live > atomic_load_explicit(&c->peak_bytes, memory_order_relaxed))
        atomic_store_explicit(&c->peak_bytes, live, memory_order_relaxed);
    atomic_store_explicit(&c->allocs, c->allocs + 1, memory_order_relaxed);
    if (hit)
        atomic_store_explicit(&c->pool_hits, c->pool_hits + 1, memory_order_relaxed);
    if (kind == FERRY__POOL_DEVICE && !reserved)
        pool->live += bytes;
}

/* Counts the block as no longer live, but still as held. */
static void count_idle(struct ferry__pool *pool, uint64_t bytes)
{
    struct ferry__counters *c = &pool->dev->stats;

    atomic_store_explicit(&c->live_bytes, c->live_bytes - bytes, memory_order_relaxed);
    atomic_store_explicit(&c->frees, c->frees + 1, memory_order_relaxed);
}

static void count_free(struct ferry__pool *pool, enum ferry__pool_kind kind, uint64_t bytes)
{
    count_idle(pool, bytes);
    if (kind == FERRY__POOL_DEVICE)
        pool->live -= bytes;
}

/*
 * Reserves `bytes` of the budget if so many are left, with or without the cached bytes counted as
 * used. The check and the reservation are one step under the lock, so that no other thread reserves
 * the same bytes.
 */
static bool reserve(struct ferry__pool *pool, uint64_t bytes, bool with_cache)
{
    uint64_t held;
    bool fits;

    pthread_mutex_lock(&pool->lock);
    held = pool->live + (with_cache ? pool->cached_bytes : 0);
    fits = !pool->budget || (bytes <= pool->budget && held <= pool->budget - bytes);
    if (fits)
        pool->live += bytes;
    pthread_mutex_unlock(&pool->lock);
    return fits;
}

static void unreserve(struct ferry__pool *pool, uint64_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->live -= bytes;
    pthread_mutex_unlock(&pool->lock);
}

/* The number of bytes that have to be freed before `bytes` more fit. */
static uint64_t bytes_over(struct ferry__pool *pool, uint64_t bytes)
{
    uint64_t wanted;

    pthread_mutex_lock(&pool->lock);
    wanted = pool->live + bytes > pool->budget ? pool->live + bytes - pool->budget : 0;
    pthread_mutex_unlock(&pool->lock);
    return wanted;
}

int ferry__pool_set_budget(struct ferry__pool *pool, uint64_t bytes)
{
    uint64_t over;

    pthread_mutex_lock(&pool->lock);
    pool->budget = bytes;
    over = bytes && pool->live > bytes ? pool->live - bytes : 0;
    pthread_mutex_unlock(&pool->lock);
    if (over)
        make_room(pool->dev, over);
    return bytes ? ferry__pool_trim(pool) : 0;
}

/* ---- alloc ---- */

/* One request for a block. */
struct want {
    enum ferry__pool_kind kind;
    ferry_queue *q;
    uint64_t bytes;
    bool evicts;   /* memory in use may be evicted for it; no queue is reserved */
    bool reserved; /* its bytes are counted as live already */
};

/*
 * A cached block for use on the queue. The block's event orders a queue other than the default one,
 * and the host if the block is host memory.
 */
static bool from_cache(struct ferry__pool *pool, const struct want *w, unsigned class,
                       uint64_t rounded, void **out)
{
    struct block *b;
    ferry_event *event = NULL;

    pthread_mutex_lock(&pool->lock);
    b = take_cached(pool, w->kind, class, rounded);
    if (b) {
        *out = b->memory;
        event = b->event;
        b->event = NULL;
        recycle(pool, b);
        count_alloc(pool, w->kind, w->bytes, true, w->reserved);
    }
    pthread_mutex_unlock(&pool->lock);
    if (event && ferry__device_is(pool->dev, FERRY_DEVICE_HOST_MEMORY))
        ferry_event_synchronize(event);
    else if (event && w->q != &pool->dev->queue && ferry__queue_order(w->q, event))
        ferry_event_synchronize(event);
    ferry__event_release(event);
    return b != NULL;
}

/* Frees unused blocks; blocks that are lent to queues only if no queue is reserved. */
static void give_cached(struct ferry__pool *pool, const struct want *w)
{
    if (w->evicts)
        (void)ferry__pool_trim(pool);
    else
        empty(pool);
}

static int from_plugin(struct ferry__pool *pool, const struct want *w, uint64_t size, bool *zeroed,
                       void **out)
{
    const bool device = w->kind == FERRY__POOL_DEVICE, wanted = *zeroed;
    int err = plugin_alloc(pool->dev, w->kind, w->q, size, zeroed, out);

    if (err == FERRY_ENOMEM) { /* the cache may hold the missing bytes */
        give_cached(pool, w);
        *zeroed = wanted;
        err = plugin_alloc(pool->dev, w->kind, w->q, size, zeroed, out);
    }
    if (err == FERRY_ENOMEM && device && w->evicts && make_room(pool->dev, size)) {
        ferry__pool_trim(pool); /* the evicted copies may be in the cache */
        *zeroed = wanted;
        err = plugin_alloc(pool->dev, w->kind, w->q, size, zeroed, out);
    }
    if (err)
        return ferry__device_fail(pool->dev, device ? "alloc" : "alloc of host memory", w->bytes,
                                  err);
    pthread_mutex_lock(&pool->lock);
    if (*zeroed && size >= LARGE)
        atomic_store_explicit(&pool->zero_pages, true, memory_order_relaxed);
    count_alloc(pool, w->kind, w->bytes, false, w->reserved);
    pthread_mutex_unlock(&pool->lock);
    return 0;
}

bool ferry__pool_could_hold(const ferry_device *dev, uint64_t bytes)
{
    uint64_t most = dev->opened.properties.memory_total;

    return !most || bytes <= most;
}

/* Reserves the bytes if there is a budget, after freeing other bytes if necessary. */
static int within_budget(struct ferry__pool *pool, struct want *w)
{
    uint64_t held, budget, bytes = w->bytes;

    w->reserved =
        w->kind == FERRY__POOL_DEVICE && atomic_load_explicit(&pool->budget, memory_order_relaxed);
    if (!w->reserved || reserve(pool, bytes, true))
        return 0;
    give_cached(pool, w);
    if (reserve(pool, bytes, false))
        return 0;
    if (w->evicts) {
        make_room(pool->dev, bytes_over(pool, bytes));
        ferry__pool_trim(pool);
        if (reserve(pool, bytes, false))
            return 0;
    }
    pthread_mutex_lock(&pool->lock);
    held = pool->live;
    budget = pool->budget;
    pthread_mutex_unlock(&pool->lock);
    return ferry__error(FERRY_ENOMEM,
                        "%s: alloc of %" PRIu64 " bytes: %" PRIu64
                        " are held of a budget of %" PRIu64,
                        pool->dev->name, bytes, held, budget);
}

/* A block that kernels cannot address is useless, even if the plugin would allocate it. */
static int within_binding(ferry_device *dev, const struct want *w)
{
    uint64_t most = dev->opened.said.max_binding;

    if (w->kind != FERRY__POOL_DEVICE || !most || w->bytes <= most)
        return 0;
    return ferry__error(FERRY_ENOMEM,
                        "%s: alloc of %" PRIu64 " bytes: its kernels reach %" PRIu64
                        " of a block (max_binding)",
                        dev->name, w->bytes, most);
}

static int get(ferry_device *dev, struct want *w, bool *zeroed, void **out)
{
    struct ferry__pool *pool = dev->pool;
    uint64_t rounded;
    unsigned class = class_of(w->bytes, &rounded);
    bool cacheable = class < CLASSES && !(w->kind == FERRY__POOL_DEVICE &&
                                          ferry__device_is(dev, FERRY_DEVICE_ORDERED_ALLOC));
    double start = ferry__trace_now();
    int err = within_binding(dev, w);

    if (!err)
        err = within_budget(pool, w);
    if (err)
        return err;
    if (cacheable &&
        !(*zeroed && w->bytes >= LARGE &&
          atomic_load_explicit(&pool->zero_pages, memory_order_relaxed)) &&
        from_cache(pool, w, class, rounded, out)) {
        *zeroed = false;
        ferry__trace_event("pool hit", NULL, w->bytes, dev, start);
        return 0;
    }
    if (!cacheable || rounded < w->bytes || rounded > dev->max_block)
        rounded = w->bytes;
    err = from_plugin(pool, w, rounded, zeroed, out);
    if (!err)
        ferry__trace_event("alloc", NULL, w->bytes, dev, start);
    else if (w->reserved)
        unreserve(pool, w->bytes);
    return err;
}

int ferry__pool_alloc(ferry_device *dev, enum ferry__pool_kind kind, ferry_queue *q, uint64_t bytes,
                      bool evicts, bool *zeroed, void **out)
{
    struct want w = { .kind = kind, .q = q, .bytes = bytes, .evicts = evicts };
    int err = ferry__device_ready(dev) ? 0 : ferry__device_usable(dev);

    return err ? err : get(dev, &w, zeroed, out);
}

int ferry__pool_scratch(ferry_device *dev, ferry_queue *q, uint64_t bytes, void **out)
{
    struct want w = { .kind = FERRY__POOL_DEVICE, .q = q, .bytes = bytes };
    bool zeroed = false;

    return get(dev, &w, &zeroed, out);
}

void ferry__pool_lend(ferry_device *dev, uint64_t bytes, bool again)
{
    pthread_mutex_lock(&dev->pool->lock);
    if (again)
        count_alloc(dev->pool, FERRY__POOL_DEVICE, bytes, true, true);
    else
        count_idle(dev->pool, bytes);
    pthread_mutex_unlock(&dev->pool->lock);
}

void ferry__pool_drop(ferry_device *dev, void *block, uint64_t bytes)
{
    pthread_mutex_lock(&dev->pool->lock);
    dev->pool->live -= bytes;
    pthread_mutex_unlock(&dev->pool->lock);
    plugin_free(dev, FERRY__POOL_DEVICE, block);
}

void *ferry__pool_take(ferry_device *dev, uint64_t bytes)
{
    const struct want w = { .kind = FERRY__POOL_DEVICE, .q = &dev->queue, .bytes = bytes };
    struct ferry__pool *pool = dev->pool;
    uint64_t rounded;
    unsigned class = class_of(bytes, &rounded);
    void *block = NULL;

    if (bytes < LARGE && !atomic_load_explicit(&pool->budget, memory_order_relaxed) &&
        !ferry__device_is(dev, FERRY_DEVICE_ORDERED_ALLOC))
        from_cache(pool, &w, class, rounded, &block);
    return block;
}

/* ---- free ---- */

/* A record for a block that is to be cached; NULL if the block is not to be cached. */
static struct block *room_for(struct ferry__pool *pool, unsigned class, uint64_t rounded)
{
    struct block *b = pool->spare;

    if (class >= CLASSES || pool->cached_bytes + rounded > pool->limit)
        return NULL;
    if (!b)
        return calloc(1, sizeof *b);
    pool->spare = b->next;
    return b;
}

void ferry__pool_free(ferry_device *dev, enum ferry__pool_kind kind, void *block, uint64_t bytes)
{
    struct ferry__pool *pool = dev->pool;
    uint64_t rounded;
    unsigned class = class_of(bytes, &rounded);
    bool ordered = kind == FERRY__POOL_DEVICE && ferry__device_is(dev, FERRY_DEVICE_ORDERED_ALLOC);
    ferry_event *event = NULL;
    struct block *b = NULL;

    if (ordered || rounded < bytes || rounded > dev->max_block)
        class = CLASSES;
    if (kind == FERRY__POOL_DEVICE && !ordered && dev->events &&
        ferry__section_mark(&dev->queue, &event))
        ferry__queue_settle(dev, NULL);
    if (event) /* without this, a cached block would keep the device open */
        ferry__event_unbind(event);
    ferry__trace_event("free", NULL, bytes, dev, ferry__trace_now());
    pthread_mutex_lock(&pool->lock);
    count_free(pool, kind, bytes);
    b = room_for(pool, class, rounded);
    if (b) {
        b->memory = block;
        b->event = event;
        b->next = pool->cached[kind][class];
        pool->cached[kind][class] = b;
        pool->cached_bytes += rounded;
    }
    pthread_mutex_unlock(&pool->lock);
    if (b)
        return;
    if (event)
        ferry_event_synchronize(event);
    ferry__event_release(event);
    plugin_free(dev, kind, block);
}
