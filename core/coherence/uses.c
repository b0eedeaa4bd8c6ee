/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/uses.h"

#include "core/base/status.h"

#include <stdlib.h>

int ferry__uses_reserve(struct ferry__uses **uses, unsigned extra)
{
    struct ferry__uses *u = *uses;
    unsigned count = u ? u->count : 0;
    unsigned room = u ? u->room : 0;

    if (count + extra <= room)
        return 0;
    room = 2 * (count + extra);
    u = realloc(u, sizeof *u + room * sizeof u->at[0]);
    if (!u)
        return ferry__error(FERRY_ENOMEM, "no memory to note pending work");
    u->count = count;
    u->room = room;
    *uses = u;
    return 0;
}

/* A reader that a later one on the same queue stands for; NULL if there is none. */
static struct ferry__use *earlier_reader(struct ferry__uses *uses, const ferry_queue *queue)
{
    unsigned i;

    for (i = 0; i < uses->count; i++)
        if (uses->at[i].queue == queue && !uses->at[i].write && !uses->at[i].program)
            return &uses->at[i];
    return NULL;
}

void ferry__uses_add(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue, bool write)
{
    struct ferry__use *use = event && !write ? earlier_reader(uses, queue) : NULL;

    if (use) {
        ferry__event_release(use->event);
        use->event = ferry__event_retain(event);
        return;
    }
    use = &uses->at[uses->count++];
    use->event = event ? ferry__event_retain(event) : NULL;
    use->queue = ferry__queue_retain(queue);
    use->write = write;
    use->program = !event;
}

void ferry__uses_add_program(struct ferry__uses *uses, ferry_queue *queue, bool write)
{
    struct ferry__use *use;
    unsigned i = 0;

    while (i < uses->count && (!uses->at[i].program || uses->at[i].queue != queue))
        i++;
    use = &uses->at[i];
    if (i < uses->count && !use->event)
        use->write |= write;
    else if (i == uses->count || write)
        ferry__uses_add(uses, NULL, queue, write);
    if (i < uses->count && use->event && write)
        use->program = false; /* the one just added knows more */
}

static void drop(struct ferry__uses *uses, unsigned i)
{
    ferry__event_release(uses->at[i].event);
    ferry__queue_release(uses->at[i].queue);
    uses->at[i] = uses->at[--uses->count];
}

/* What was before the event is done; the program may still read. */
static void keep_reading(struct ferry__use *use)
{
    ferry__event_release(use->event);
    use->event = NULL;
    use->write = false;
}

static bool is_gone(const struct ferry__use *use)
{
    return atomic_load(&use->queue->gone);
}

int ferry__uses_settle(struct ferry__uses *uses)
{
    unsigned i = 0;
    int failed = 0;

    while (uses && i < uses->count) {
        struct ferry__use *use = &uses->at[i];
        int answer = use->event ? ferry_event_query(use->event) : is_gone(use);

        if (answer < 0 && use->write)
            failed = answer;
        if (answer && use->event && use->program && !is_gone(use))
            keep_reading(use);
        else if (answer)
            drop(uses, i--);
        i++;
    }
    return failed;
}

void ferry__uses_supersede(struct ferry__uses *uses, const ferry_queue *q)
{
    unsigned i;

    for (i = 0; uses && i < uses->count; i++)
        if (uses->at[i].queue != q && uses->at[i].event)
            uses->at[i].program = false;
}

void ferry__uses_inherit(struct ferry__uses *to, const struct ferry__uses *from)
{
    unsigned i;

    for (i = 0; from && i < from->count; i++)
        if (from->at[i].write && from->at[i].event)
            ferry__uses_add(to, from->at[i].event, from->at[i].queue, true);
}

/* Whether `q` runs after the use without being told. */
static bool is_before(const struct ferry__use *use, const ferry_queue *q)
{
    return use->queue == q;
}

static bool concerns(const struct ferry__use *use, enum ferry__after after)
{
    return use->write || after == FERRY__AFTER_ALL;
}

/*
 * An event after the program's own use of a queue, now that somebody has to wait for it; NULL where
 * there is nothing to wait for. Its owner may be destroying the queue meanwhile.
 */
static int mark_program(const struct ferry__use *use, ferry_event **out)
{
    ferry_queue *q = use->queue;
    int err = 0;

    *out = NULL;
    if (ferry__device_forked(q->device))
        return ferry__device_usable(q->device);
    pthread_mutex_lock(&q->life);
    if (!is_gone(use))
        err = ferry__queue_mark(q, out);
    pthread_mutex_unlock(&q->life);
    return err;
}

static int after_event(const struct ferry__use *use, ferry_event *e, ferry_queue *q)
{
    int err = q ? ferry__queue_order(q, e) : ferry_event_synchronize(e);

    /* a reader that failed is done all the same; one that could not be waited for is not */
    return use->write || atomic_load(&e->state) >= 0 ? err : 0;
}

/* What the program does after the event is reading, which concerns writers alone. */
static int order_one(struct ferry__use *use, enum ferry__after after, ferry_queue *q)
{
    bool unknown = use->program && (!use->event || after == FERRY__AFTER_ALL);
    ferry_event *e = NULL;
    int err = unknown ? mark_program(use, &e) : 0;

    if (!err && use->event)
        err = after_event(use, use->event, q);
    if (!err && e)
        err = after_event(use, e, q);
    if (e && !use->event)
        use->event = e;
    else
        ferry__event_release(e);
    return err;
}

int ferry__uses_order(struct ferry__uses *uses, enum ferry__after after, ferry_queue *q)
{
    unsigned i;
    int err = 0;

    for (i = 0; uses && i < uses->count && !err; i++)
        if (concerns(&uses->at[i], after) && !(q && is_before(&uses->at[i], q)))
            err = order_one(&uses->at[i], after, q);
    return err;
}

void ferry__uses_outlive(struct ferry__uses *uses)
{
    unsigned i;

    for (i = 0; uses && i < uses->count; i++) {
        struct ferry__use *use = &uses->at[i];
        ferry_device *dev = use->queue->device;
        ferry_event *e = NULL;

        if (ferry__device_forked(dev))
            continue; /* it is the parent's work */
        if (use->event)
            ferry_event_synchronize(use->event);
        if (use->program && mark_program(use, &e))
            dev->ops->synchronize(dev->dev);
        else if (e)
            ferry_event_synchronize(e);
        ferry__event_release(e);
    }
}

/* Whether there is something that is known not to be done, or not known to be. */
static bool is_pending(const struct ferry__use *use, enum ferry__after after)
{
    if (use->event && ferry_event_query(use->event) == 0)
        return true;
    return use->program && (!use->event || after == FERRY__AFTER_ALL) && !is_gone(use) &&
           use->queue->device->events;
}

bool ferry__uses_would_block(const struct ferry__uses *uses, enum ferry__after after,
                             const ferry_queue *q)
{
    unsigned i;

    for (i = 0; uses && i < uses->count; i++) {
        const struct ferry__use *use = &uses->at[i];

        if (!concerns(use, after) || (q && is_before(use, q)))
            continue;
        if (q && ferry__queue_can_order(q, use->queue->device))
            continue;
        if (is_pending(use, after))
            return true;
    }
    return false;
}

void ferry__uses_clear(struct ferry__uses *uses)
{
    while (uses && uses->count)
        drop(uses, uses->count - 1);
}
