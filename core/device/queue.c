/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/queue.h"

#include "core/base/status.h"
#include "core/device/trace.h"

#include <stdlib.h>
#include <string.h>

_Thread_local struct ferry__entry ferry__entry;

void ferry__queue_init(ferry_queue *q, ferry_device *dev, void *handle)
{
    pthread_mutexattr_t again;

    q->device = dev;
    q->handle = handle;
    atomic_init(&q->refs, 1);
    atomic_init(&q->gone, false);
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&q->lock, &again);
    pthread_mutexattr_destroy(&again);
    pthread_mutex_init(&q->life, NULL);
}

void ferry__queue_forget(ferry_queue *q)
{
    ferry_event *e;

    while ((e = q->oldest_stray)) {
        q->oldest_stray = e->next_stray;
        ferry__event_release(e);
    }
    q->newest_stray = NULL;
    ferry__event_release(q->asked);
    q->asked = NULL;
    free(q->why);
    q->why = NULL;
}

/* Retains a queue. The default queue belongs to its device and is not counted. */
ferry_queue *ferry__queue_retain(ferry_queue *q)
{
    if (q != &q->device->queue)
        atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    return q;
}

void ferry__queue_release(ferry_queue *q)
{
    ferry_device *dev = q->device;

    if (q == &dev->queue || atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) != 1)
        return;
    ferry__queue_forget(q);
    pthread_mutex_destroy(&q->lock);
    pthread_mutex_destroy(&q->life);
    free(q);
    ferry__device_release(dev);
}

/* ---- work ---- */

int ferry__queue_memcpy(ferry_queue *q, uint32_t kind, ferry_ref dst, ferry_cref src,
                        uint64_t bytes)
{
    static const char *const names[] = { "copy to the device", "copy to the host",
                                         "copy within the device" };
    ferry_device *dev = q->device;
    int err;

    ferry__queue_enter(q);
    err = dev->ops->memcpy(dev->dev, q->handle, kind, dst, src, bytes);
    ferry__queue_leave(q);
    if (err)
        return ferry__device_fail(dev, names[kind - 1], bytes, err);
    ferry__count(&dev->stats.copies[kind - 1], 1);
    ferry__count(&dev->stats.bytes[kind - 1], bytes);
    return 0;
}

int ferry__queue_memset(ferry_queue *q, ferry_ref dst, uint8_t byte, uint64_t bytes)
{
    ferry_device *dev = q->device;
    int err;

    ferry__queue_enter(q);
    err = dev->ops->memset(dev->dev, q->handle, dst, byte, bytes);
    ferry__queue_leave(q);
    return err ? ferry__device_fail(dev, "memset", bytes, err) : 0;
}

/* Determines which of the two devices is lost: a lost one cannot record an event. */
static bool is_lost(ferry_device *dev)
{
    ferry_queue *q = &dev->queue;
    void *event;
    int err;

    if (pthread_mutex_trylock(&q->lock)) /* the caller holds the other queue's lock, so this must
                                          * not block */
        return false;
    err = dev->ops->event_record(dev->dev, q->handle, &event);
    pthread_mutex_unlock(&q->lock);
    if (!err)
        dev->ops->event_destroy(dev->dev, event);
    return err == FERRY_ELOST;
}

int ferry__queue_peer_copy(ferry_queue *q, ferry_ref dst, ferry_device *src_dev, ferry_cref src,
                           uint64_t bytes)
{
    ferry_device *dev = q->device;
    int err;

    ferry__queue_enter(q);
    err = dev->ops->peer_copy(dev->dev, q->handle, dst, src_dev->dev, src, bytes);
    ferry__queue_leave(q);
    if (err == FERRY_ELOST && is_lost(src_dev))
        return ferry__device_fail(src_dev, "copy to a peer device", bytes, err);
    if (err)
        return ferry__device_fail(dev, "copy from a peer device", bytes, err);
    ferry__count(&dev->stats.copies[FERRY_MEMCPY_D2D - 1], 1);
    ferry__count(&dev->stats.bytes[FERRY_MEMCPY_D2D - 1], bytes);
    return 0;
}

int ferry__queue_map(ferry_queue *q, void *handle, uint64_t bytes, uint32_t access,
                     const char *name)
{
    ferry_device *dev = q->device;
    double start = ferry__trace_now();
    int err;

    ferry__queue_enter(q);
    err = dev->ops->map(dev->dev, q->handle, handle, bytes, access);
    ferry__queue_leave(q);
    if (err)
        return ferry__device_fail(dev, "map", bytes, err);
    ferry__count(&dev->stats.maps, 1);
    ferry__trace_event("map", name, 0, dev, start);
    return 0;
}

int ferry__queue_unmap(ferry_queue *q, void *handle, const char *name)
{
    ferry_device *dev = q->device;
    double start = ferry__trace_now();
    int err;

    ferry__queue_enter(q);
    err = dev->ops->unmap(dev->dev, q->handle, handle);
    ferry__queue_leave(q);
    if (err)
        return ferry__device_fail(dev, "unmap", UINT64_MAX, err);
    ferry__count(&dev->stats.maps, 1);
    ferry__trace_event("unmap", name, 0, dev, start);
    return 0;
}

/* ---- events inside the core ---- */

ferry_event *ferry__event_new(ferry_queue *q)
{
    ferry_event *e = malloc(sizeof *e);

    if (!e) {
        ferry__error(FERRY_ENOMEM, "%s: no memory for an event", q->device->name);
        return NULL;
    }
    *e = (ferry_event){ .device = ferry__device_retain(q->device), .refs = 1 };
    return e;
}

int ferry__event_record(ferry_event *e, ferry_queue *q)
{
    ferry_device *dev = q->device;
    int err;

    ferry__queue_hold(q);
    err = dev->ops->event_record(dev->dev, q->handle, &e->handle);
    if (!err) {
        e->number = ++q->events;
        q->stray = false;
        atomic_store_explicit(&e->state, 1, memory_order_release);
    }
    ferry__queue_leave(q);
    return err ? ferry__device_fail(dev, "event_record", UINT64_MAX, err) : 0;
}

int ferry__queue_mark(ferry_queue *q, ferry_event **out)
{
    ferry_device *dev = q->device;
    ferry_event *e;
    int err;

    *out = NULL;
    if (!dev->events)
        return 0;
    if (ferry__device_forked(dev))
        return ferry__device_usable(dev);
    e = ferry__event_new(q);
    if (!e)
        return FERRY_ENOMEM;
    err = ferry__event_record(e, q);
    if (err)
        ferry__event_release(e);
    else
        *out = e;
    return err;
}

void ferry__event_unbind(ferry_event *e)
{
    if (e->unbound)
        return;
    e->unbound = true;
    ferry__device_release(e->device);
}

ferry_event *ferry__event_retain(ferry_event *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void ferry__event_release(ferry_event *e)
{
    ferry_device *dev;

    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    dev = e->device;
    if (e->handle && !ferry__device_forked(dev))
        dev->ops->event_destroy(dev->dev, e->handle);
    if (!e->unbound)
        ferry__device_release(dev);
    free(atomic_load(&e->why));
    free(e);
}

bool ferry__queue_can_order(const ferry_queue *q, const ferry_device *dev)
{
    return q->device == dev || (q->device->plugin == dev->plugin && q->device->sync_domain &&
                                q->device->sync_domain == dev->sync_domain);
}

/* Returns a failure that an earlier query already saw. */
static int had_failed(ferry_event *e, int state)
{
    const char *why = atomic_load(&e->why);

    if (why)
        return ferry__error(state, "%s", why);
    return ferry__error(state, "%s: the work before an event had failed", e->device->name);
}

int ferry__queue_order(ferry_queue *q, ferry_event *e)
{
    ferry_device *dev = q->device;
    int state = atomic_load(&e->state);
    int err;

    if (state == 0)
        return 0;
    if (state < 0)
        return had_failed(e, state);
    if (ferry__device_forked(dev))
        return ferry__device_usable(dev);
    if (!ferry__queue_can_order(q, e->device))
        return ferry_event_synchronize(e);
    ferry__queue_hold(q);
    err = dev->ops->queue_wait(dev->dev, q->handle, e->handle);
    if (!err) /* counted as work, so that an access that waits for the queue also waits for the
               * event */
        atomic_fetch_add_explicit(&q->submitted, 1, memory_order_release);
    ferry__queue_leave(q);
    return err ? ferry__device_fail(dev, "queue_wait", UINT64_MAX, err) : 0;
}

int ferry__queue_settle(ferry_device *dev, void *handle)
{
    if (dev->plugin->given & FERRY__GIVEN_SETTLE)
        return dev->ops->queue_synchronize(dev->dev, handle);
    return dev->ops->synchronize(dev->dev);
}

/* ---- the public half: events ---- */

int ferry_queue_wait_event(ferry_queue *q, ferry_event *e)
{
    int err;

    if (!q || !e)
        return ferry__error(FERRY_EINVAL, "ferry_queue_wait_event: NULL argument");
    err = ferry__device_usable(q->device);
    if (!err)
        err = ferry__device_usable(e->device);
    return err ? err : ferry__queue_order(q, e);
}

/* Keeps the message for later calls: the plugin reports it only once. */
static void keep_why(ferry_event *e)
{
    char *none = NULL, *why = strdup(ferry_last_error());

    if (!atomic_compare_exchange_strong(&e->why, &none, why))
        free(why);
}

/* Sets the event's state from a plugin's result: 0, or a negative code, which is recorded. */
static int settle(ferry_event *e, const char *operation, int answer)
{
    if (answer < 0) {
        answer = ferry__device_fail(e->device, operation, UINT64_MAX, answer);
        keep_why(e);
        atomic_store(&e->state, answer);
        return answer;
    }
    atomic_store(&e->state, 0);
    return 0;
}

void ferry__event_set(ferry_event *e, int state)
{
    settle(e, "asynchronous work", state);
}

int ferry_event_query(ferry_event *e)
{
    int state, answer;

    if (!e)
        return ferry__error(FERRY_EINVAL, "ferry_event_query: NULL event");
    state = atomic_load(&e->state);
    if (state == 0)
        return 1;
    if (state < 0)
        return had_failed(e, state);
    if (ferry__device_forked(e->device))
        return ferry__device_usable(e->device);
    answer = e->device->ops->event_query(e->device->dev, e->handle);
    if (answer == 0)
        return 0;
    answer = settle(e, "asynchronous work", answer < 0 ? answer : 0);
    return answer ? answer : 1;
}

int ferry_event_synchronize(ferry_event *e)
{
    int state;

    if (!e)
        return ferry__error(FERRY_EINVAL, "ferry_event_synchronize: NULL event");
    state = atomic_load(&e->state);
    if (state == 0)
        return 0;
    if (state < 0)
        return had_failed(e, state);
    if (ferry__device_forked(e->device))
        return ferry__device_usable(e->device);
    return settle(e, "asynchronous work",
                  e->device->ops->event_synchronize(e->device->dev, e->handle));
}

void ferry_event_destroy(ferry_event *e)
{
    ferry__event_release(e);
}
