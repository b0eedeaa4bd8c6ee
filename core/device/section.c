/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/device/section.h"

#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

/* The queue that the program has reserved for this thread. */
static _Thread_local const ferry_queue *kept;

bool ferry__section_is_on(void)
{
    return kept != NULL;
}

int ferry__section_refuse(const char *what)
{
    if (!kept)
        return 0;
    return ferry__error(FERRY_EINVAL, "%s: %s between ferry_queue_begin and ferry_queue_end",
                        kept->device->name, what);
}

int ferry__section_refuse_on(const ferry_queue *q, const char *what)
{
    return kept == q ? ferry__section_refuse(what) : 0;
}

/* In a child of fork the queue's lock may be held by a thread that exists only in the parent. */
static bool is_parents(const ferry_queue *q)
{
    return ferry__device_forked(q->device);
}

/* ---- stray work (the queue's lock is held) ---- */

/*
 * The queue keeps an event for the failures of stray work. Events on the default queue must not
 * keep their device open.
 */
static void keep_stray(ferry_queue *q, ferry_event *e)
{
    if (q == &q->device->queue)
        ferry__event_unbind(e);
    e->stray = true;
    ferry__event_retain(e);
    if (q->newest_stray)
        q->newest_stray->next_stray = e;
    else
        q->oldest_stray = e;
    q->newest_stray = e;
}

/* Records the failure with this thread's error message. */
static void note_failure(ferry_queue *q, uint64_t number, int code)
{
    free(q->why);
    q->why = strdup(ferry_last_error());
    q->failed_at = number;
    q->failed = code;
}

/* Removes the leading events that are done, since the queue works in order. */
static void look(ferry_queue *q)
{
    ferry_event *e;
    int answer;

    while ((e = q->oldest_stray)) {
        answer = ferry_event_query(e);
        if (!answer || (answer < 0 && atomic_load(&e->state) > 0)) /* the event failed, or cannot be
                                                                    * queried */
            return;
        q->oldest_stray = e->next_stray;
        if (!q->oldest_stray)
            q->newest_stray = NULL;
        if (answer < 0)
            note_failure(q, e->number, answer);
        ferry__event_release(e);
    }
}

static int mark_locked(ferry_queue *q, ferry_event **out)
{
    bool stray = q->stray || atomic_load_explicit(&q->native, memory_order_relaxed);
    int err = ferry__queue_mark(q, out);

    if (!err && *out && stray) {
        look(q);
        keep_stray(q, *out);
    }
    return err;
}

static int fence_locked(ferry_queue *q)
{
    bool stray = q->stray || atomic_load_explicit(&q->native, memory_order_relaxed);
    ferry_event *e = NULL;
    int err = stray ? mark_locked(q, &e) : 0;

    ferry__event_release(e);
    return err;
}

int ferry__section_mark(ferry_queue *q, ferry_event **out)
{
    int err;

    *out = NULL;
    if (!q->device->events)
        return 0;
    if (is_parents(q))
        return ferry__device_usable(q->device);
    ferry__queue_hold(q);
    err = mark_locked(q, out);
    ferry__queue_leave(q);
    return err;
}

bool ferry__section_answers(ferry_device *dev)
{
    ferry_event *e = NULL;
    int err;

    if (ferry__device_is(dev, FERRY_DEVICE_HOST_MEMORY) || ferry__device_forked(dev))
        return true;
    if (dev->events) {
        ferry__section_mark(&dev->queue, &e);
    } else { /* a device without events has no pending work */
        err = ferry__queue_settle(dev, NULL);
        if (err)
            ferry__device_fail(dev, "synchronize", UINT64_MAX, err);
    }
    ferry__event_release(e);
    return !ferry__device_lost(dev);
}

int ferry__section_fence(ferry_queue *q)
{
    int err;

    if (!q->device->events)
        return 0;
    if (is_parents(q))
        return ferry__device_usable(q->device);
    ferry__queue_hold(q);
    err = fence_locked(q);
    ferry__queue_leave(q);
    return err;
}

void ferry__section_cover(ferry_queue *q)
{
    if (!q->device->events)
        return;
    ferry__queue_hold(q);
    if (!q->section)
        fence_locked(q);
    ferry__queue_leave(q);
}

static void forget_asked(ferry_queue *q)
{
    ferry__event_release(q->asked);
    q->asked = NULL;
}

/*
 * The event is kept between queries, so that repeated queries make progress, from any thread; but
 * not beyond later work or a later event. (locked)
 */
static bool is_busy(ferry_queue *q)
{
    uint64_t now = atomic_load_explicit(&q->submitted, memory_order_acquire);

    if (q->asked && (q->asked_at != now || q->asked->number != q->events))
        forget_asked(q);
    if (!q->asked && (fence_locked(q) || ferry__queue_mark(q, &q->asked) || !q->asked))
        return false; /* nothing can be pending, or the query fails at once */
    if (q == &q->device->queue)
        ferry__event_unbind(q->asked);
    q->asked_at = now;
    if (ferry_event_query(q->asked) == 0)
        return true;
    forget_asked(q);
    return false;
}

bool ferry__section_is_busy(ferry_queue *q)
{
    bool busy;

    if (!q->device->events || is_parents(q))
        return false;
    ferry__queue_hold(q);
    busy = is_busy(q);
    ferry__queue_leave(q);
    return busy;
}

uint64_t ferry__section_now(ferry_queue *q)
{
    uint64_t now;

    if (is_parents(q))
        return q->events;
    ferry__queue_hold(q);
    now = q->events;
    ferry__queue_leave(q);
    return now;
}

/* Reports the failure of stray work that an event after `then` covered; the lock is held. */
static int failed_since(ferry_queue *q, uint64_t then)
{
    look(q);
    if (q->failed_at <= then)
        return 0;
    return ferry__error(q->failed, "%s", q->why ? q->why : ferry_strerror(q->failed));
}

int ferry__section_failed_since(ferry_queue *q, uint64_t then)
{
    int failed;

    if (is_parents(q)) /* the failures are the parent's too */
        return 0;
    ferry__queue_hold(q);
    failed = failed_since(q, then);
    ferry__queue_leave(q);
    return failed;
}

int ferry__section_tell(ferry_queue *q)
{
    int failed;

    if (!q->device->events || is_parents(q))
        return 0;
    ferry__queue_hold(q);
    failed = failed_since(q, q->told_at);
    if (failed)
        q->told_at = q->failed_at;
    ferry__queue_leave(q);
    return failed;
}

void ferry__section_reap(ferry_queue *q)
{
    ferry_event *e;

    ferry__queue_hold(q);
    e = q->newest_stray ? ferry__event_retain(q->newest_stray) : NULL;
    ferry__queue_leave(q);
    if (e)
        ferry_event_synchronize(e);
    ferry__event_release(e);
    ferry__queue_hold(q);
    look(q);
    forget_asked(q);
    ferry__queue_leave(q);
}

/* ---- sections ---- */

/* Begins a section. (locked) */
static int begin_locked(ferry_queue *q)
{
    int err;

    if (!q->device->events)
        return 0;
    q->section_failed = 0;
    q->section = ferry__event_new(q);
    err = q->section ? fence_locked(q) : FERRY_ENOMEM;
    if (!err)
        return 0;
    ferry__event_release(q->section);
    q->section = NULL;
    return err;
}

int ferry__section_begin(ferry_queue *q)
{
    int err = ferry__section_refuse("work with an event of its own");

    if (!err && is_parents(q))
        err = ferry__device_usable(q->device);
    if (err)
        return err;
    ferry__queue_hold(q);
    err = begin_locked(q);
    if (err)
        ferry__queue_leave(q);
    return err;
}

int ferry__section_end(ferry_queue *q, ferry_event **out)
{
    ferry_event *e;
    int err = 0;

    *out = NULL;
    if (!q->device->events) { /* such a queue may have no lock, so this function writes none of its
                               * members */
        ferry__queue_leave(q);
        return 0;
    }
    e = q->section;
    q->section = NULL;
    if (e)
        err = ferry__event_record(e, q);
    if (err || (e && q->section_failed)) { /* after the wait the result is known without a query */
        int ended = ferry__queue_settle(q->device, q->handle);

        ferry__event_set(e, q->section_failed ? q->section_failed : ended);
    }
    q->stray = false;
    ferry__queue_leave(q);
    *out = e;
    return err;
}

/* A queue without events may be used by any thread: its work needs no attribution. */
int ferry__section_enter(ferry_queue *q, bool *nested)
{
    int err = 0;

    *nested = false;
    if (!q->device->events)
        return 0;
    if (is_parents(q))
        return ferry__device_usable(q->device);
    ferry__queue_hold(q);
    *nested = q->section != NULL;
    if (!*nested)
        err = begin_locked(q);
    if (err)
        ferry__queue_leave(q);
    return err;
}

int ferry__section_wait(ferry_queue *q)
{
    ferry_event *e;
    int err;

    if (!q->device->events)
        return ferry_queue_synchronize(q);
    err = ferry__queue_mark(q, &e);
    if (!err)
        err = ferry_event_synchronize(e);
    ferry__event_release(e);
    if (err && !q->section_failed)
        q->section_failed = err;
    return err;
}

void ferry__section_leave(ferry_queue *q, bool nested)
{
    if (!q->device->events)
        return;
    if (!nested) { /* leaving has waited for all work */
        ferry__event_release(q->section);
        q->section = NULL;
        q->stray = false;
    }
    ferry__queue_leave(q);
}

bool ferry__section_pause(ferry_queue *q, struct ferry__section_pause *out)
{
    *out = (struct ferry__section_pause){ NULL, 0 };
    if (kept)
        return false;
    if (!q->device->events)
        return true;
    ferry__queue_hold(q);
    out->section = q->section; /* this thread has reserved the queue, otherwise it could not be
                                * inside a section */
    if (out->section) {
        (void)ferry__section_wait(q);
        out->failed = q->section_failed;
        q->section = NULL;
        q->stray = false;
        ferry__queue_leave(q); /* released as in ferry__section_end */
    }
    ferry__queue_leave(q);
    return true;
}

void ferry__section_resume(ferry_queue *q, const struct ferry__section_pause *pause)
{
    int err;

    if (!pause->section)
        return;
    ferry__queue_hold(q);
    err = fence_locked(q);
    q->section = pause->section;
    q->section_failed = pause->failed ? pause->failed : err;
}

int ferry_queue_begin(ferry_queue *q)
{
    int err;

    if (!q)
        return ferry__error(FERRY_EINVAL, "ferry_queue_begin: NULL queue");
    err = ferry__device_usable(q->device);
    if (!err)
        err = ferry__section_begin(q);
    if (!err)
        kept = q;
    return err;
}

int ferry_queue_end(ferry_queue *q, ferry_event **out)
{
    ferry_event *e;

    if (!q || !out)
        return ferry__error(FERRY_EINVAL, "ferry_queue_end: NULL argument");
    if (kept != q)
        return ferry__error(FERRY_EINVAL, "%s: ferry_queue_end without ferry_queue_begin",
                            q->device->name);
    kept = NULL;
    ferry__section_end(q, &e);
    *out = e;
    return 0;
}

int ferry_queue_synchronize(ferry_queue *q)
{
    int err, told;

    if (!q)
        return ferry__error(FERRY_EINVAL, "ferry_queue_synchronize: NULL queue");
    err = ferry__device_usable(q->device);
    if (err)
        return err;
    ferry__section_cover(q);
    err = ferry__queue_settle(q->device, q->handle);
    told = ferry__section_tell(q); /* an event has reported this failure already */
    return err ? ferry__device_fail(q->device, "queue_synchronize", UINT64_MAX, err) : told;
}
