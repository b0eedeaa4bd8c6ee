/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attribution of asynchronous failures. An event reports every failure on its queue since the event
 * before it, so work that has an event of its own needs the queue reserved from one event to the
 * next: a section. Work submitted outside of sections is stray: it is the program's, and its
 * failure is not attributed to any memory. The events that cover stray work are kept until they are
 * done, and their failures with the queue.
 */
#ifndef FERRY_CORE_SECTION_H
#define FERRY_CORE_SECTION_H

#include "core/device/queue.h"

/*
 * Reserves the queue for the calling thread until ferry__section_end, after an event if there is
 * stray work. No memory's lock may be taken inside. FERRY_EINVAL between the program's
 * ferry_queue_begin and ferry_queue_end, FERRY_ENOMEM, or the error of the event; the queue is then
 * not reserved.
 */
int ferry__section_begin(ferry_queue *q);

/*
 * Ends the section. *out is an event that covers exactly the work of the section; NULL if no work
 * can be pending. If recording the event fails, this function waits for the work, stores the result
 * in the event, and returns the code.
 */
int ferry__section_end(ferry_queue *q, ferry_event **out);

/*
 * For work that ends with a wait, as copies staged through the host do. enter begins a section, or
 * sets *nested if this thread is in one already; leave needs the same value. wait returns the
 * failure since enter or the previous wait.
 */
int ferry__section_enter(ferry_queue *q, bool *nested);
int ferry__section_wait(ferry_queue *q);
void ferry__section_leave(ferry_queue *q, bool nested);

/*
 * Operations that a section must not contain, such as making room on the device, are done between
 * pause and resume: the submitted work is waited for, and other threads may use the queue
 * meanwhile. Afterwards the section's event covers the later work, and includes the result of the
 * wait. Outside of a section both do nothing. Returns false, and there is nothing to resume, if the
 * section is the program's.
 */
struct ferry__section_pause {
    ferry_event *section; /* NULL: no section was open */
    int failed;
};
bool ferry__section_pause(ferry_queue *q, struct ferry__section_pause *out);
void ferry__section_resume(ferry_queue *q, const struct ferry__section_pause *pause);

/* Whether this thread is between the program's ferry_queue_begin and ferry_queue_end. */
bool ferry__section_is_on(void);

/* FERRY_EINVAL between the program's begin and end in this thread: `what` waits or takes a lock. */
int ferry__section_refuse(const char *what);

/* The same, but only if the queue is the one that is reserved. */
int ferry__section_refuse_on(const ferry_queue *q, const char *what);

/*
 * Records an event that orders work and reports no failure: the queue keeps the failure of earlier
 * stray work. Destroy an event on a default queue before the device. *out is NULL where nothing
 * can be pending.
 */
int ferry__section_mark(ferry_queue *q, ferry_event **out);

/*
 * Whether the device still responds: checked before its copy replaces others. An event cannot be
 * recorded on a lost device, which is then marked as lost. Does not wait for its work.
 */
bool ferry__section_answers(ferry_device *dev);

/* Ensures that the next event on the queue reports no failure of stray work. */
int ferry__section_fence(ferry_queue *q);

/*
 * Called before the program synchronizes, which reports all failures. Records an event for the
 * failures of stray work, so that these count as reported. Where no event can be recorded they are
 * reported once more.
 */
void ferry__section_cover(ferry_queue *q);

/*
 * Whether the queue has pending work, as far as this can be known: ferry's work, and other work
 * that was there at the first query.
 */
bool ferry__section_is_busy(ferry_queue *q);

/* The number of events recorded on the queue so far. */
uint64_t ferry__section_now(ferry_queue *q);

/*
 * Returns the code of a known failure of stray work that an event after `then` covered. 0: there is
 * no such failure.
 */
int ferry__section_failed_since(ferry_queue *q, uint64_t then);

/* The known failure of stray work on that queue that was not reported yet; 0 if there is none. */
int ferry__section_tell(ferry_queue *q);

/* Waits for stray work, and releases the events that the queue keeps. */
void ferry__section_reap(ferry_queue *q);

#endif
