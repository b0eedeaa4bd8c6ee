/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "pending.h"

#include "status.h"

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

void ferry__uses_add(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue, bool write)
{
    struct ferry__use *use = &uses->at[uses->count++];

    use->event = event ? ferry__event_retain(event) : NULL;
    use->queue = ferry__queue_retain(queue);
    use->write = write;
}

void ferry__uses_add_program(struct ferry__uses *uses, ferry_queue *queue, bool write)
{
    unsigned i = 0;

    while (i < uses->count && (uses->at[i].event || uses->at[i].queue != queue))
        i++;
    if (i < uses->count)
        uses->at[i].write |= write;
    else
        ferry__uses_add(uses, NULL, queue, write);
}

static void drop(struct ferry__uses *uses, unsigned i)
{
    ferry__event_release(uses->at[i].event);
    ferry__queue_release(uses->at[i].queue);
    uses->at[i] = uses->at[--uses->count];
}

int ferry__uses_settle(struct ferry__uses *uses)
{
    unsigned i = 0;
    int failed = 0;

    while (uses && i < uses->count) {
        struct ferry__use *use = &uses->at[i];
        int answer = use->event ? ferry_event_query(use->event) : atomic_load(&use->queue->gone);

        if (answer < 0 && use->write)
            failed = answer;
        if (answer)
            drop(uses, i);
        else
            i++;
    }
    return failed;
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

/* Turns the program's own use of a queue into an event, now that somebody has to wait for it. */
static int give_event(struct ferry__use *use)
{
    if (use->event || atomic_load(&use->queue->gone))
        return 0;
    return ferry__queue_mark(use->queue, &use->event);
}

int ferry__uses_order(struct ferry__uses *uses, enum ferry__after after, ferry_queue *q)
{
    unsigned i;
    int err;

    for (i = 0; uses && i < uses->count; i++) {
        struct ferry__use *use = &uses->at[i];

        if (!concerns(use, after) || (q && is_before(use, q)))
            continue;
        err = give_event(use);
        if (err)
            return err;
        if (!use->event)
            continue;
        err = q ? ferry__queue_order(q, use->event) : ferry_event_synchronize(use->event);
        /* a reader that failed is done all the same; one that could not be waited for is not */
        if (err && (use->write || atomic_load(&use->event->state) >= 0))
            return err;
    }
    return 0;
}

void ferry__uses_outlive(struct ferry__uses *uses)
{
    unsigned i;

    for (i = 0; uses && i < uses->count; i++) {
        struct ferry__use *use = &uses->at[i];
        ferry_device *dev = use->queue->device;

        if (ferry__device_forked(dev))
            continue; /* it is the parent's work */
        if (give_event(use))
            dev->ops->queue_synchronize(dev->dev, use->queue->handle);
        else if (use->event)
            ferry_event_synchronize(use->event);
    }
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
        if (use->event ? ferry_event_query(use->event) == 0
                       : !atomic_load(&use->queue->gone) && use->queue->device->events)
            return true;
    }
    return false;
}

void ferry__uses_clear(struct ferry__uses *uses)
{
    while (uses && uses->count)
        drop(uses, uses->count - 1);
}
