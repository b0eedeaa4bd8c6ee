/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public functions for queues: creation and destruction, copies, the vendor's objects, the
 * record of an event. The rest of events is in queue.c; sections, and waiting for a queue, in
 * section.c.
 */
#include "config.h"

#include "core/base/status.h"
#include "core/device/lent.h"
#include "core/device/section.h"
#include "core/device/trace_lanes.h"
#include "core/plugin/host.h"

#include <stdlib.h>

/* ---- life ---- */

ferry_queue *ferry_device_queue(ferry_device *dev)
{
    if (!dev) {
        ferry__error(FERRY_EINVAL, "ferry_device_queue: NULL device");
        return NULL;
    }
    return ferry__device_open(dev) ? NULL : &dev->queue;
}

/* The number of queues created so far, for their names in traces. */
static atomic_uint queues;

static int queue_new(ferry_device *dev, void *handle, ferry_queue **out)
{
    ferry_queue *q = calloc(1, sizeof *q);

    if (!q)
        return ferry__error(FERRY_ENOMEM, "%s: no memory for a queue", dev->name);
    ferry__queue_init(q, ferry__device_retain(dev), handle);
    q->number = 1 + atomic_fetch_add_explicit(&queues, 1, memory_order_relaxed);
    *out = q;
    return 0;
}

int ferry_queue_create(ferry_device *dev, ferry_queue **out)
{
    void *handle = NULL;
    int err;

    if (!dev || !out)
        return ferry__error(FERRY_EINVAL, "ferry_queue_create: NULL argument");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->queue_create(dev->dev, 0, &handle);
    if (!err && !handle)
        err = ferry__host_blame("it returned 0 and no queue");
    if (err)
        return ferry__device_fail(dev, "queue_create", UINT64_MAX, err);
    err = queue_new(dev, handle, out);
    if (err)
        dev->ops->queue_destroy(dev->dev, handle);
    return err;
}

int ferry_queue_wrap(ferry_device *dev, void *native, ferry_queue **out)
{
    void *handle = NULL;
    int err;

    if (!dev || !native || !out)
        return ferry__error(FERRY_EINVAL, "ferry_queue_wrap: NULL argument");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    err = dev->ops->queue_wrap(dev->dev, native, &handle);
    if (!err && !handle)
        err = ferry__host_blame("it returned 0 and no queue");
    if (err)
        return ferry__device_fail(dev, "queue_wrap", UINT64_MAX, err);
    err = queue_new(dev, handle, out);
    if (err)
        dev->ops->queue_destroy(dev->dev, handle);
    else
        atomic_store(&(*out)->native, true);
    return err;
}

void ferry_queue_destroy(ferry_queue *q)
{
    ferry_device *dev;

    if (!q || q == &q->device->queue)
        return;
    dev = q->device;
    if (!ferry__device_forked(dev)) {
        ferry__section_fence(q); /* keeps an event for failures that are lost with the queue */
        ferry__queue_settle(dev, q->handle);
        pthread_mutex_lock(&q->life); /* other threads may be recording events on the queue */
        atomic_store(&q->gone, true);
        pthread_mutex_unlock(&q->life);
        ferry__queue_hold(q);
        ferry__section_reap(q);
        ferry__lent_end(q);
        dev->ops->queue_destroy(dev->dev, q->handle);
        ferry__queue_leave(q);
    }
    ferry__queue_release(q);
}

/* ---- use ---- */

ferry_device *ferry_queue_device(const ferry_queue *q)
{
    return q ? q->device : NULL;
}

int ferry_device_synchronize(ferry_device *dev)
{
    int err, told;

    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_device_synchronize: NULL device");
    err = ferry__device_usable(dev);
    if (err)
        return err;
    ferry__section_cover(&dev->queue);
    err = dev->ops->synchronize(dev->dev);
    told = ferry__section_tell(&dev->queue); /* an event has reported this failure already */
    return err ? ferry__device_fail(dev, "synchronize", UINT64_MAX, err) : told;
}

int ferry_queue_call(ferry_queue *q, const char *what, ferry_queue_call_fn work, void *arg)
{
    ferry_device *dev;
    int err;

    if (!q || !what || !work)
        return ferry__error(FERRY_EINVAL, "ferry_queue_call: NULL argument");
    dev = q->device;
    err = ferry__device_usable(dev);
    if (err)
        return err;
    ferry__queue_enter(q);
    err = work(dev->dev, q->handle, arg);
    ferry__queue_leave(q);
    return err ? ferry__device_fail(dev, what, UINT64_MAX, err) : 0;
}

/* Makes a copy that the program requested. */
static int copy(ferry_queue *q, uint32_t kind, ferry_ref dst, ferry_cref src, size_t bytes)
{
    const struct ferry__trace_copy traced = { .what = kind == FERRY_MEMCPY_H2D ? "h2d" : "d2h",
                                              .bytes = bytes,
                                              .reason = FERRY__PROGRAM,
                                              .unpinned = true };
    double start = ferry__trace_now();
    int err = ferry__device_usable(q->device);
    void *section;

    if (err || !bytes)
        return err;
    section = ferry__lane_begin(q);
    err = ferry__queue_memcpy(q, kind, dst, src, bytes);
    ferry__lane_end(q, section);
    if (!err)
        ferry__trace_copy(&traced, q, start);
    ferry__lane_copy(&traced, q, start, NULL, section, !err);
    return err;
}

int ferry_queue_write(ferry_queue *q, ferry_ref dst, const void *src, size_t bytes)
{
    ferry_cref from = { src, 0 };

    if (!q || (!src && bytes))
        return ferry__error(FERRY_EINVAL, "ferry_queue_write: NULL %s", q ? "source" : "queue");
    if (!dst.handle)
        return ferry__error_null_ref("ferry_queue_write");
    return copy(q, FERRY_MEMCPY_H2D, dst, from, bytes);
}

int ferry_queue_read(ferry_queue *q, void *dst, ferry_cref src, size_t bytes)
{
    ferry_ref to = { dst, 0 };

    if (!q || (!dst && bytes))
        return ferry__error(FERRY_EINVAL, "ferry_queue_read: NULL %s", q ? "destination" : "queue");
    if (!src.handle)
        return ferry__error_null_ref("ferry_queue_read");
    return copy(q, FERRY_MEMCPY_D2H, to, src, bytes);
}

int ferry_queue_native(ferry_queue *q, const char *what, void *out, size_t size)
{
    int err;

    if (!q || !what || !out)
        return ferry__error(FERRY_EINVAL, "ferry_queue_native: NULL argument");
    err = ferry__device_usable(q->device);
    if (err)
        return err;
    err = q->device->ops->queue_native(q->device->dev, q->handle, what, out, size);
    if (!err)
        atomic_store(&q->native, true);
    return err ? ferry__device_fail(q->device, what, UINT64_MAX, err) : 0;
}

/* ---- events ---- */

/* Inside a section it would take over failures that belong to the section's event. */
int ferry_event_record(ferry_queue *q, ferry_event **out)
{
    ferry_event *e;
    int err;

    if (!q || !out)
        return ferry__error(FERRY_EINVAL, "ferry_event_record: NULL argument");
    err = ferry__section_refuse_on(q, "an event");
    if (!err)
        err = ferry__device_usable(q->device);
    if (err)
        return err;
    err = ferry__queue_mark(q, &e);
    if (!err && !e) { /* no work is ever pending on this queue, so the event is complete */
        e = ferry__event_new(q);
        err = e ? 0 : FERRY_ENOMEM;
    }
    if (!err)
        *out = e;
    return err;
}
