/* SPDX-License-Identifier: BSD-2-Clause */
/* Work on queues: the operations that memory.c and math.c submit, and their events. */
#ifndef FERRY_CORE_QUEUE_H
#define FERRY_CORE_QUEUE_H

#include "core/device/device.h"

/*
 * The entry that this thread is in, of a device with FERRY_DEVICE_SCRATCH. Blocks that lent.c has
 * lent to the entry are taken back when it returns.
 */
struct ferry__entry {
    ferry_queue *queue;       /* the queue of the running entry, or NULL */
    struct ferry__lent *lent; /* the blocks lent to it */
    void (*take_back)(struct ferry__lent *lent);
};
extern _Thread_local struct ferry__entry ferry__entry;

/* Whether the queue needs no lock: its device has no events, and it accepts concurrent calls. */
static inline bool ferry__queue_is_free(const ferry_queue *q)
{
    return ferry__device_is(q->device, FERRY_DEVICE_CONCURRENT) && !q->device->events;
}

/* Whether another thread is inside an entry of the plugin on that queue, which may take long. */
static inline bool ferry__queue_is_taken(ferry_queue *q)
{
    if (ferry__queue_is_free(q))
        return false;
    if (pthread_mutex_trylock(&q->lock) != 0)
        return true;
    pthread_mutex_unlock(&q->lock);
    return false;
}

/* Called around an entry of the plugin that takes a queue: an entry that only reads its state, */
static inline void ferry__queue_hold(ferry_queue *q)
{
    if (!ferry__queue_is_free(q))
        pthread_mutex_lock(&q->lock);
}

/* and one that submits work, which is stray unless a section ends after it. */
static inline void ferry__queue_enter(ferry_queue *q)
{
    if (ferry__device_is(q->device, FERRY_DEVICE_SCRATCH))
        ferry__entry.queue = q;
    if (ferry__queue_is_free(q))
        return;
    pthread_mutex_lock(&q->lock);
    q->stray = true;
    if (q->device->events)
        atomic_fetch_add_explicit(&q->submitted, 1, memory_order_release);
}

static inline void ferry__queue_leave(ferry_queue *q)
{
    if (ferry__device_is(q->device, FERRY_DEVICE_SCRATCH)) {
        ferry__entry.queue = NULL;
        if (ferry__entry.lent)
            ferry__entry.take_back(ferry__entry.lent);
    }
    if (!ferry__queue_is_free(q))
        pthread_mutex_unlock(&q->lock);
}

void ferry__queue_init(ferry_queue *q, ferry_device *dev, void *handle);
ferry_queue *ferry__queue_retain(ferry_queue *q);
void ferry__queue_release(ferry_queue *q);

/* Releases section.c's events on the queue, which are not needed any more. */
void ferry__queue_forget(ferry_queue *q);

/* Copies by FERRY_MEMCPY_…; counted. The device's side is memory of q's device. */
int ferry__queue_memcpy(ferry_queue *q, uint32_t kind, ferry_ref dst, ferry_cref src,
                        uint64_t bytes);
int ferry__queue_memset(ferry_queue *q, ferry_ref dst, uint8_t byte, uint64_t bytes);
/*
 * Copies from another device of the same plugin, on a queue of the receiving device; counted there.
 */
int ferry__queue_peer_copy(ferry_queue *q, ferry_ref dst, ferry_device *src_dev, ferry_cref src,
                           uint64_t bytes);
/*
 * Maps imported memory for the host, or unmaps it; counted. `name` (may be NULL) is for the trace.
 */
int ferry__queue_map(ferry_queue *q, void *handle, uint64_t bytes, uint32_t access,
                     const char *name);
int ferry__queue_unmap(ferry_queue *q, void *handle, const char *name);

/*
 * Blocks until the work of that queue (NULL: the default one) is done; if the plugin cannot wait
 * for one queue, until all work of the device is done. Returns the plugin's result unchanged.
 */
int ferry__queue_settle(ferry_device *dev, void *handle);

/*
 * Records an event after the work so far, which reports its failures; *out is NULL if no work can
 * be pending.
 */
int ferry__queue_mark(ferry_queue *q, ferry_event **out);

/*
 * ferry__queue_mark in two steps: creates an event that is not recorded yet (NULL: FERRY_ENOMEM),
 * and records it.
 */
ferry_event *ferry__event_new(ferry_queue *q);
int ferry__event_record(ferry_event *e, ferry_queue *q);
/*
 * Sets an event's state without asking the plugin: 0, or a negative code, with this thread's error
 * as its message.
 */
void ferry__event_set(ferry_event *e, int state);
/*
 * Makes later work on `q` wait for `e`: on the queue if the plugin supports it, else by blocking
 * here.
 */
int ferry__queue_order(ferry_queue *q, ferry_event *e);
/* Whether ferry__queue_order does not block the calling thread, for events of that device. */
bool ferry__queue_can_order(const ferry_queue *q, const ferry_device *dev);

/*
 * Releases the event's reference to its device; the caller destroys the event before the device
 * ends.
 */
void ferry__event_unbind(ferry_event *e);
ferry_event *ferry__event_retain(ferry_event *e);
void ferry__event_release(ferry_event *e);

#endif
