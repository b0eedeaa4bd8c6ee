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
    ferry_queue *queue;       /* the queue whose entry runs, or NULL */
    struct ferry__lent *lent; /* its blocks */
    void (*take_back)(struct ferry__lent *lent);
};
extern _Thread_local struct ferry__entry ferry__entry;

/*
 * A queue that takes calls of several threads at once, and has no events to keep apart, needs no
 * lock.
 */
static inline bool ferry__queue_is_free(const ferry_queue *q)
{
    return ferry__device_is(q->device, FERRY_DEVICE_CONCURRENT) && !q->device->events;
}

/* Whether another thread is in a call of an entry of that queue, which may take its time. */
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

/*
 * An event after the work so far, which reports its failures; *out is NULL if no work can be
 * pending.
 */
int ferry__queue_mark(ferry_queue *q, ferry_event **out);

/*
 * The same in two steps: an event that is not recorded yet (NULL: FERRY_ENOMEM), and its recording.
 */
ferry_event *ferry__event_new(ferry_queue *q);
int ferry__event_record(ferry_event *e, ferry_queue *q);
/*
 * Settles an event without asking the plugin: 0, or a negative code that this thread's error is
 * about.
 */
void ferry__event_set(ferry_event *e, int state);
/* Makes later work on `q` wait for `e`: on the queue where the plugin can, else here. */
int ferry__queue_order(ferry_queue *q, ferry_event *e);
/* Whether that works without blocking the calling thread, for events of that device. */
bool ferry__queue_can_order(const ferry_queue *q, const ferry_device *dev);

/* Gives up the event's reference to its device: the caller's events go before the device does. */
void ferry__event_unbind(ferry_event *e);
ferry_event *ferry__event_retain(ferry_event *e);
void ferry__event_release(ferry_event *e);

#endif
