/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work on queues: what memory.c and math.c submit, and the events that they leave behind.
 */
#ifndef FERRY_CORE_QUEUE_H
#define FERRY_CORE_QUEUE_H

#include "core/device/device.h"

/* Around a call of a plugin's entry that takes a queue: one that looks at it, */
static inline void ferry__queue_hold(ferry_queue *q)
{
    if (!ferry__device_is(q->device, FERRY_DEVICE_CONCURRENT))
        pthread_mutex_lock(&q->lock);
}

/* and one that gives it work. */
static inline void ferry__queue_enter(ferry_queue *q)
{
    ferry__queue_hold(q);
    if (q->device->events)
        atomic_fetch_add_explicit(&q->submitted, 1, memory_order_release);
}

static inline void ferry__queue_leave(ferry_queue *q)
{
    if (!ferry__device_is(q->device, FERRY_DEVICE_CONCURRENT))
        pthread_mutex_unlock(&q->lock);
}

void ferry__queue_init(ferry_queue *q, ferry_device *dev, void *handle);
ferry_queue *ferry__queue_retain(ferry_queue *q);
void ferry__queue_release(ferry_queue *q);

/* Copies by FERRY_MEMCPY_…; counted. The device's side belongs to q's device. */
int ferry__queue_memcpy(ferry_queue *q, uint32_t kind, ferry_ref dst, ferry_cref src,
                        uint64_t bytes);
int ferry__queue_memset(ferry_queue *q, ferry_ref dst, uint8_t byte, uint64_t bytes);
/* From another device of the same plugin, on a queue of the receiving one; counted there. */
int ferry__queue_peer_copy(ferry_queue *q, ferry_ref dst, ferry_device *src_dev, ferry_cref src,
                           uint64_t bytes);
/*
 * Gives imported memory to the host, or takes it back; counted. `name` (may be NULL) is for the
 * trace.
 */
int ferry__queue_map(ferry_queue *q, void *handle, uint64_t bytes, uint32_t access,
                     const char *name);
int ferry__queue_unmap(ferry_queue *q, void *handle, const char *name);

/*
 * Blocks until the plugin has done the work of that queue (NULL: the default one), or, where it
 * cannot wait for one queue alone, of all. The plugin's answer as it is.
 */
int ferry__queue_settle(ferry_device *dev, void *handle);

/* An event after the work so far; *out is NULL where nothing can be pending. */
int ferry__queue_mark(ferry_queue *q, ferry_event **out);
/* Makes later work on `q` wait for `e`: on the queue where the plugin can, else here. */
int ferry__queue_order(ferry_queue *q, ferry_event *e);
/* Whether that works without blocking the calling thread, for events of that device. */
bool ferry__queue_can_order(const ferry_queue *q, const ferry_device *dev);

/* Gives up the event's reference to its device: the caller's events go before the device does. */
void ferry__event_unbind(ferry_event *e);
ferry_event *ferry__event_retain(ferry_event *e);
void ferry__event_release(ferry_event *e);

#endif
