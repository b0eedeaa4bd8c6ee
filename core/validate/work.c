/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of the entries of plugin.h that work with memory, queues and events of an open device. */
#include "config.h"

#include "core/validate/track.h"

#include <stdlib.h>

#define CHECKED(d, call) ferry__check_code(d, __func__, call)

/* ---- shared ------------------------------------------------------------------------------- */

int ferry__check_code(struct ferry__tracked_device *d, const char *entry, int code)
{
    if (code > 0)
        ferry__broken(d, 11, entry, "returned %d: neither 0 nor a negative code", code);
    return code;
}

static int check_answer(struct ferry__tracked_device *d, int rule, const char *entry, int answer)
{
    if (answer != 0 && answer != 1)
        ferry__broken(d, rule, entry, "returned %d: neither 1 nor 0", answer);
    return answer;
}

/* ---- memory ------------------------------------------------------------------------------- */

static struct ferry__tracked_block *add_block(struct ferry__tracked_device *d, const void *handle,
                                              uint64_t bytes)
{
    struct ferry__tracked_block **at, *b = calloc(1, sizeof *b);

    for (at = &d->freed; *at; at = &(*at)->next)
        if ((*at)->handle == handle) { /* the plugin has returned the same address again */
            struct ferry__tracked_block *gone = *at;

            *at = gone->next;
            free(gone);
            break;
        }
    if (!b) {
        ferry__blind(d);
        return NULL;
    }
    b->handle = handle;
    b->bytes = bytes;
    b->next = d->blocks;
    d->blocks = b;
    return b;
}

/* Whether a block overlaps a live block of the device, if handles are addresses. */
static bool overlaps_live(const struct ferry__tracked_device *d, const void *handle, uint64_t bytes)
{
    const struct ferry__tracked_block *b;
    uintptr_t at = (uintptr_t)handle;

    for (b = d->blocks; b; b = b->next)
        if (b->handle == handle ||
            (d->flags & FERRY_DEVICE_POINTERS && !b->imported &&
             at < (uintptr_t)b->handle + b->bytes && (uintptr_t)b->handle < at + bytes))
            return true;
    return false;
}

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    void *handle = NULL;
    int err = CHECKED(d, d->ops->alloc(dev, queue, bytes, flags, &handle, out_flags));

    if (err && handle)
        ferry__broken(d, 12, "alloc", "stored a handle although it failed");
    if (err)
        return err;
    *out_handle = handle;
    pthread_mutex_lock(&ferry__validate_lock);
    if (!handle)
        ferry__broken(d, 24, "alloc", "succeeded with a handle of NULL");
    else if (d->flags & FERRY_DEVICE_POINTERS && (uintptr_t)handle % 64)
        ferry__broken(d, 23, "alloc", "a block that is not aligned to 64 bytes");
    else if (overlaps_live(d, handle, bytes))
        ferry__broken(d, 23, "alloc", "a block that overlaps one that is not freed");
    if (handle)
        add_block(d, handle, bytes);
    pthread_mutex_unlock(&ferry__validate_lock);
    return 0;
}

/* Removes the block of a handle from the live blocks. NULL: no live block has the handle. */
static struct ferry__tracked_block *take_block(struct ferry__tracked_device *d, const void *handle)
{
    struct ferry__tracked_block **at, *b;

    for (at = &d->blocks; *at && (*at)->handle != handle; at = &(*at)->next)
        ;
    b = *at;
    if (b)
        *at = b->next;
    return b;
}

static int free_block(void *dev, void *queue, void *handle)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_block *b;

    pthread_mutex_lock(&ferry__validate_lock);
    b = take_block(d, handle);
    if (!b)
        ferry__broken(d, 26, "free", "a block that alloc did not return, or that was freed");
    else if (!d->synchronous && !(d->flags & FERRY_DEVICE_ORDERED_ALLOC) &&
             !ferry__order_is_idle(b))
        ferry__broken(d, 26, "free", "a block with work that may be pending");
    if (b) {
        b->next = d->freed;
        d->freed = b;
    }
    ferry__forget_packings(d, handle);
    pthread_mutex_unlock(&ferry__validate_lock);
    return ferry__check_code(d, "free", d->ops->free(dev, queue, handle));
}

static int copy_bytes(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                      uint64_t bytes)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    ferry__check_submit(d, "memcpy", queue);
    if (kind != FERRY_MEMCPY_H2D)
        ferry__check_access(d, "memcpy", queue, src, bytes, false);
    if (kind != FERRY_MEMCPY_D2H)
        ferry__check_access(d, "memcpy", queue, ferry_ref_const(dst), bytes, true);
    return ferry__check_code(d, "memcpy", d->ops->memcpy(dev, queue, kind, dst, src, bytes));
}

static int set_bytes(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    ferry__check_submit(d, "memset", queue);
    ferry__check_access(d, "memset", queue, ferry_ref_const(dst), bytes, true);
    return ferry__check_code(d, "memset", d->ops->memset(dev, queue, dst, byte, bytes));
}

static int peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                     uint64_t bytes)
{
    struct ferry__tracked_device *d = ferry__tracked(dst_dev);

    ferry__check_submit(d, "peer_copy", queue);
    ferry__check_access(d, "peer_copy", queue, ferry_ref_const(dst), bytes, true);
    ferry__check_peer(d, ferry__tracked(src_dev), queue, src, bytes);
    return CHECKED(d, d->ops->peer_copy(dst_dev, queue, dst, src_dev, src, bytes));
}

static int host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr,
                      uint32_t *out_flags)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_host *h = calloc(1, sizeof *h);
    int err = CHECKED(d, d->ops->host_alloc(dev, bytes, flags, out_ptr, out_flags));

    if (!err && !h)
        ferry__blind(d);
    if (err || !h) {
        free(h);
        return err;
    }
    if ((uintptr_t)*out_ptr % 64 || !*out_ptr)
        ferry__broken(d, 31, "host_alloc", "memory that is not aligned to 64 bytes");
    pthread_mutex_lock(&ferry__validate_lock);
    h->pointer = *out_ptr;
    h->next = d->hosts;
    d->hosts = h;
    pthread_mutex_unlock(&ferry__validate_lock);
    return 0;
}

static int host_free(void *dev, void *ptr)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_host **at, *h;

    pthread_mutex_lock(&ferry__validate_lock);
    for (at = &d->hosts; *at && (*at)->pointer != ptr; at = &(*at)->next)
        ;
    h = *at;
    if (h)
        *at = h->next;
    else
        ferry__broken(d, 31, "host_free",
                      "memory that host_alloc did not return, or that was freed");
    pthread_mutex_unlock(&ferry__validate_lock);
    free(h);
    return CHECKED(d, d->ops->host_free(dev, ptr));
}

/* ---- imported memory ---------------------------------------------------------------------- */

static int import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_block *b;
    int err = CHECKED(d, d->ops->import_host(dev, ptr, bytes, flags, out_handle));

    if (err)
        return err;
    pthread_mutex_lock(&ferry__validate_lock);
    if (!*out_handle)
        ferry__broken(d, 32, "import_host", "succeeded with a handle of NULL");
    b = add_block(d, *out_handle, bytes);
    if (b)
        b->imported = true;
    pthread_mutex_unlock(&ferry__validate_lock);
    return 0;
}

static int unimport_host(void *dev, void *handle)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_block *b;

    pthread_mutex_lock(&ferry__validate_lock);
    b = take_block(d, handle);
    if (!b || !b->imported)
        ferry__broken(d, 32, "unimport_host", "memory that was not imported");
    else if (!d->synchronous && !ferry__order_is_idle(b))
        ferry__broken(d, 32, "unimport_host", "memory with work that may be pending");
    pthread_mutex_unlock(&ferry__validate_lock);
    free(b);
    return CHECKED(d, d->ops->unimport_host(dev, handle));
}

static void set_mapped(struct ferry__tracked_device *d, const char *entry, const void *handle,
                       uint32_t mapped)
{
    struct ferry__tracked_block *b;

    pthread_mutex_lock(&ferry__validate_lock);
    b = ferry__tracked_block(d, handle);
    if (!b || !b->imported)
        ferry__broken(d, 32, entry, "memory that is not imported");
    else if (!mapped && !b->mapped)
        ferry__broken(d, 32, entry, "memory that is not mapped");
    else
        b->mapped = mapped;
    pthread_mutex_unlock(&ferry__validate_lock);
}

/* Records that all work of a queue is done. (not locked) */
static void note_done(struct ferry__tracked_device *d, const void *queue)
{
    struct ferry__tracked_queue *q;

    pthread_mutex_lock(&ferry__validate_lock);
    q = ferry__tracked_queue(d, queue);
    if (q)
        ferry__order_wait(&q->vector);
    pthread_mutex_unlock(&ferry__validate_lock);
}

static int map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = CHECKED(d, d->ops->map(dev, queue, handle, bytes, access));

    note_done(d, queue);
    if (!err)
        set_mapped(d, "map", handle, access);
    return err;
}

static int unmap(void *dev, void *queue, void *handle)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = CHECKED(d, d->ops->unmap(dev, queue, handle));

    set_mapped(d, "unmap", handle, 0);
    return err;
}

/* ---- queues ------------------------------------------------------------------------------- */

static int add_queue(struct ferry__tracked_device *d, const void *handle, bool native)
{
    struct ferry__tracked_queue *q = calloc(1, sizeof *q);

    if (!q) {
        ferry__blind(d);
        return 0;
    }
    pthread_mutex_lock(&ferry__validate_lock);
    q->handle = handle;
    q->clock = native ? -1 : ferry__clock_take();
    q->next = d->queues;
    d->queues = q;
    pthread_mutex_unlock(&ferry__validate_lock);
    return 0;
}

static int queue_create(void *dev, uint32_t flags, void **out_queue)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = CHECKED(d, d->ops->queue_create(dev, flags, out_queue));

    if (!err && !*out_queue)
        ferry__broken(d, 34, "queue_create", "NULL, which is the default queue");
    return err ? err : add_queue(d, *out_queue, false);
}

/* Stops order checks of a queue, because the program may order its work by the vendor's calls. */
static void let_go(struct ferry__tracked_device *d, const void *queue)
{
    struct ferry__tracked_queue *q;

    pthread_mutex_lock(&ferry__validate_lock);
    q = ferry__tracked_queue(d, queue);
    if (q) {
        ferry__clock_give_back(q->clock);
        q->clock = -1;
    }
    pthread_mutex_unlock(&ferry__validate_lock);
}

static int queue_wrap(void *dev, void *native, void **out_queue)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = CHECKED(d, d->ops->queue_wrap(dev, native, out_queue));

    return err ? err : add_queue(d, *out_queue, true);
}

static int queue_native(void *dev, void *queue, const char *what, void *out, uint64_t size)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    let_go(d, queue);
    return CHECKED(d, d->ops->queue_native(dev, queue, what, out, size));
}

static int queue_destroy(void *dev, void *queue)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_queue **at, *q;

    pthread_mutex_lock(&ferry__validate_lock);
    for (at = &d->queues; *at && (*at)->handle != queue; at = &(*at)->next)
        ;
    q = queue ? *at : NULL;
    if (q) {
        *at = q->next;
        ferry__clock_give_back(q->clock);
    } else {
        ferry__broken(d, 41, "queue_destroy", "a queue that was destroyed, or never created");
    }
    pthread_mutex_unlock(&ferry__validate_lock);
    free(q);
    return CHECKED(d, d->ops->queue_destroy(dev, queue));
}

static int queue_synchronize(void *dev, void *queue)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = CHECKED(d, d->ops->queue_synchronize(dev, queue));

    note_done(d, queue);
    return err;
}

static int synchronize(void *dev)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_queue *q;
    int err = CHECKED(d, d->ops->synchronize(dev));

    pthread_mutex_lock(&ferry__validate_lock);
    for (q = d->queues; q; q = q->next)
        ferry__order_wait(&q->vector);
    pthread_mutex_unlock(&ferry__validate_lock);
    return err;
}

/* ---- events ------------------------------------------------------------------------------- */

static struct ferry__tracked_event *find_event(struct ferry__tracked_device *d, const void *handle)
{
    struct ferry__tracked_event *e;

    for (e = d->events; e && e->handle != handle; e = e->next)
        ;
    return e;
}

static int event_record(void *dev, void *queue, void **out_event)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_event *e = calloc(1, sizeof *e);
    struct ferry__tracked_queue *q;
    int err;

    ferry__check_submit(d, "event_record", queue);
    err = CHECKED(d, d->ops->event_record(dev, queue, out_event));
    if (!err && !e)
        ferry__blind(d);
    if (err || !e) {
        free(e);
        return err;
    }
    pthread_mutex_lock(&ferry__validate_lock);
    q = ferry__tracked_queue(d, queue);
    if (find_event(d, *out_event))
        ferry__broken(d, 41, "event_record", "the handle of an event that was not destroyed");
    e->handle = *out_event;
    if (q)
        e->vector = q->vector;
    e->next = d->events;
    d->events = e;
    pthread_mutex_unlock(&ferry__validate_lock);
    return 0;
}

/* Records that the work before the event is done; with `done` false checks only the handle. */
static void note_event(struct ferry__tracked_device *d, const char *entry, const void *event,
                       bool done)
{
    const struct ferry__tracked_event *e;

    pthread_mutex_lock(&ferry__validate_lock);
    e = find_event(d, event);
    if (!e)
        ferry__broken(d, 41, entry, "an event that was destroyed, or never recorded");
    else if (done)
        ferry__order_wait(&e->vector);
    pthread_mutex_unlock(&ferry__validate_lock);
}

static int event_query(void *dev, void *event)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int answer;

    note_event(d, "event_query", event, false);
    answer = d->ops->event_query(dev, event);
    if (answer > 1)
        ferry__broken(d, 38, "event_query", "returned %d: not 1, 0 or a negative code", answer);
    if (answer)
        note_event(d, "event_query", event, true);
    return answer;
}

static int event_synchronize(void *dev, void *event)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = CHECKED(d, d->ops->event_synchronize(dev, event));

    note_event(d, "event_synchronize", event, true);
    if (d->ops->event_query(dev, event) == 0)
        ferry__broken(d, 36, "event_synchronize", "returned before the event is complete");
    return err;
}

static int event_destroy(void *dev, void *event)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct ferry__tracked_event **at, *e;

    pthread_mutex_lock(&ferry__validate_lock);
    for (at = &d->events; *at && (*at)->handle != event; at = &(*at)->next)
        ;
    e = *at;
    if (e)
        *at = e->next;
    else
        ferry__broken(d, 41, "event_destroy", "an event that was destroyed, or never recorded");
    pthread_mutex_unlock(&ferry__validate_lock);
    free(e);
    return CHECKED(d, d->ops->event_destroy(dev, event));
}

/* Makes the queue wait for an event, possibly of another device of the same sync_domain. */
static int queue_wait(void *dev, void *queue, void *event)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    const struct ferry__tracked_event *e;
    struct ferry__tracked_queue *q;

    pthread_mutex_lock(&ferry__validate_lock);
    e = ferry__tracked_event_of_any(event);
    q = ferry__tracked_queue(d, queue);
    if (!q)
        ferry__broken(d, 41, "queue_wait", "a queue that was destroyed, or never created");
    else if (!e)
        ferry__broken(d, 41, "queue_wait", "an event that was destroyed, or never recorded");
    else
        ferry__order_join(q, &e->vector);
    pthread_mutex_unlock(&ferry__validate_lock);
    return CHECKED(d, d->ops->queue_wait(dev, queue, event));
}

/* ---- questions ---------------------------------------------------------------------------- */

static int supports(void *dev, uint32_t op, uint32_t dtype)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    return check_answer(d, 22, "supports", d->ops->supports(dev, op, dtype));
}

static int peer_access(void *dst_dev, void *src_dev)
{
    struct ferry__tracked_device *d = ferry__tracked(dst_dev);

    return check_answer(d, 42, "peer_access", d->ops->peer_access(dst_dev, src_dev));
}

static int native(void *dev, const char *what, void *out, uint64_t size)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    let_go(d, NULL);
    return CHECKED(d, d->ops->native(dev, what, out, size));
}

void ferry__wrap_work(ferry_plugin_ops *ops)
{
    ops->alloc = alloc;
    ops->free = free_block;
    ops->memcpy = copy_bytes;
    ops->memset = set_bytes;
    ops->synchronize = synchronize;
    ops->supports = supports;
    ops->host_alloc = host_alloc;
    ops->host_free = host_free;
    ops->import_host = import_host;
    ops->unimport_host = unimport_host;
    ops->map = map;
    ops->unmap = unmap;
    ops->peer_access = peer_access;
    ops->peer_copy = peer_copy;
    ops->queue_create = queue_create;
    ops->queue_destroy = queue_destroy;
    ops->queue_synchronize = queue_synchronize;
    ops->queue_wrap = queue_wrap;
    ops->queue_native = queue_native;
    ops->event_record = event_record;
    ops->event_query = event_query;
    ops->event_synchronize = event_synchronize;
    ops->event_destroy = event_destroy;
    ops->queue_wait = queue_wait;
    ops->native = native;
}
