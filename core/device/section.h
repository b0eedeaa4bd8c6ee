/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose work failed. An event tells of what failed since the event before it on its queue, so work
 * that has an event of its own needs the queue for itself from one event to the next: a section.
 * What is submitted outside of sections is stray: the program's, and nobody's in particular. The
 * events that happen to cover it are kept until they are done, and what they say with the queue.
 */
#ifndef FERRY_CORE_SECTION_H
#define FERRY_CORE_SECTION_H

#include "core/device/queue.h"

/*
 * Keeps the queue to the calling thread until ferry__section_end; an event goes before it where
 * there is stray work. No memory's lock may be taken inside. FERRY_EINVAL between the program's
 * ferry_queue_begin and ferry_queue_end, FERRY_ENOMEM, or what the event failed with; the queue is
 * then not kept.
 */
int ferry__section_begin(ferry_queue *q);

/*
 * Ends it. *out is an event that covers what was submitted in it and nothing else; NULL where nothing
 * can be pending. If it cannot be recorded, the work has been waited for, the event knows how it
 * ended, and the code is returned.
 */
int ferry__section_end(ferry_queue *q, ferry_event **out);

/*
 * For work that waits for itself, as a detour over the host does: a section of its own, or part of the
 * one that this thread is in; *nested says which, for the end. The wait gives what failed since the
 * beginning, or the wait before.
 */
int ferry__section_enter(ferry_queue *q, bool *nested);
int ferry__section_wait(ferry_queue *q);
void ferry__section_leave(ferry_queue *q, bool nested);

/*
 * What no section may do, making room on the device for one, may be done between pause and resume:
 * what was submitted is waited for, and the queue is others' meanwhile. After it the section's event
 * covers what comes then, and knows what the wait found. Outside of a section neither does anything.
 * False, and there is nothing to resume, where the section is the program's.
 */
struct ferry__section_pause {
    ferry_event *section; /* NULL: there was none */
    int failed;
};
bool ferry__section_pause(ferry_queue *q, struct ferry__section_pause *out);
void ferry__section_resume(ferry_queue *q, const struct ferry__section_pause *pause);

/* Whether this thread is between the program's begin and end. */
bool ferry__section_is_on(void);

/* FERRY_EINVAL between the program's begin and end in this thread; `what` would wait, or lock. */
int ferry__section_refuse(const char *what);

/*
 * An event after the work so far, for the order alone: the failure of stray work before it stays with
 * the queue. One on a default queue has to go before the device does. *out is NULL where nothing can
 * be pending.
 */
int ferry__section_mark(ferry_queue *q, ferry_event **out);

/*
 * Whether the device is still there, as far as it says: asked before its copy stands for others. One that
 * was lost while nobody called it takes no event, and is marked. Does not wait for its work.
 */
bool ferry__section_answers(ferry_device *dev);

/* Sees to it that the next event on the queue has nothing to tell of stray work. */
int ferry__section_fence(ferry_queue *q);

/*
 * Before the program synchronizes, which tells of all that failed: an event has what failed of stray
 * work, so that it is known to have been told. Where none can be recorded it is told once more.
 */
void ferry__section_cover(ferry_queue *q);

/*
 * Whether the queue has work to do, as far as can be told: what ferry put there, and what else there
 * was when it was first asked.
 */
bool ferry__section_is_busy(ferry_queue *q);

/* How many events there have been on the queue. */
uint64_t ferry__section_now(ferry_queue *q);

/* Whether stray work that was covered by an event after `then` is known to have failed: its code. */
int ferry__section_failed_since(ferry_queue *q, uint64_t then);

/* The failure of stray work on that queue that is known and was not told yet; 0: there is none. */
int ferry__section_tell(ferry_queue *q);

/* Waits for stray work, and gives the events back that the queue keeps. */
void ferry__section_reap(ferry_queue *q);

#endif
