/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/uses.h"

#include "core/base/status.h"
#include "core/device/section.h"

#include <stdlib.h>
#include <string.h>

/* Reserves room in the past for `extra` uses and for all current writers. */
static int reserve_past(struct ferry__uses *u, unsigned extra)
{
    unsigned need = u->past_count + u->count + extra;
    struct ferry__use *past;

    if (u->past_first + need <= u->past_room)
        return 0;
    if (u->past_first) {
        memmove(u->past, u->past + u->past_first, u->past_count * sizeof u->past[0]);
        u->past_first = 0;
    }
    if (2 * need <= u->past_room)
        return 0;
    past = realloc(u->past, 4 * (size_t)need * sizeof u->past[0]);
    if (!past)
        return ferry__error(FERRY_ENOMEM, "no memory to note pending work");
    u->past = past;
    u->past_room = 4 * need;
    return 0;
}

int ferry__uses_reserve(struct ferry__uses **uses, unsigned extra)
{
    struct ferry__uses *u = *uses;
    unsigned count = u ? u->count : 0;
    unsigned room = u ? u->room : 0;

    if (count + extra > room || !u) {
        room = 2 * (count + extra);
        u = realloc(u, sizeof *u + room * sizeof u->at[0]);
        if (!u)
            return ferry__error(FERRY_ENOMEM, "no memory to note pending work");
        if (!*uses)
            memset(u, 0, sizeof *u);
        u->room = room;
        *uses = u;
    }
    return reserve_past(u, extra);
}

/*
 * An earlier reader on the same queue, which a later reader replaces; NULL if there is no such
 * reader.
 */
static struct ferry__use *earlier_reader(struct ferry__uses *uses, const ferry_queue *queue)
{
    unsigned i;

    for (i = 0; i < uses->count; i++)
        if (uses->at[i].queue == queue && !uses->at[i].write && !uses->at[i].program)
            return &uses->at[i];
    return NULL;
}

static struct ferry__use *add(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue)
{
    struct ferry__use *use = &uses->at[uses->count++];

    memset(use, 0, sizeof *use);
    use->event = event ? ferry__event_retain(event) : NULL;
    use->queue = ferry__queue_retain(queue);
    use->since = UINT64_MAX;
    return use;
}

/* Moves a writer into the past. */
static void bury(struct ferry__uses *uses, unsigned i)
{
    struct ferry__use *use = &uses->at[i];

    use->program = false;
    uses->past[uses->past_first + uses->past_count++] = *use;
    *use = uses->at[--uses->count];
}

/*
 * Moves writers into the past that precede a later writer on the same queue; no access needs to
 * wait for them.
 */
static void bury_earlier(struct ferry__uses *uses, const ferry_queue *queue)
{
    unsigned i = 0;

    while (i < uses->count) {
        const struct ferry__use *use = &uses->at[i];

        if (use->queue == queue && use->write && use->event && !use->program && !use->blameless)
            bury(uses, i);
        else
            i++;
    }
}

void ferry__uses_add(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue, bool write)
{
    struct ferry__use *use = write ? NULL : earlier_reader(uses, queue);

    if (write)
        bury_earlier(uses, queue);

    if (use) {
        ferry__event_release(use->event);
        use->event = ferry__event_retain(event);
        return;
    }
    add(uses, event, queue)->write = write;
}

void ferry__uses_add_blameless(struct ferry__uses *uses, ferry_event *event, ferry_queue *queue)
{
    struct ferry__use *use = add(uses, event, queue);

    use->write = use->blameless = true;
}

int ferry__uses_absolve(struct ferry__uses *uses, ferry_queue *q)
{
    ferry_event *e = NULL;
    int err = ferry__section_mark(q, &e);

    if (err)
        return err;
    ferry__uses_clear(uses); /* the event is after those uses */
    if (e)
        ferry__uses_add_blameless(uses, e, q);
    ferry__event_release(e);
    return 0;
}

void ferry__uses_add_program(struct ferry__uses *uses, ferry_queue *queue, bool write)
{
    struct ferry__use *use, *added;
    unsigned i = 0;

    while (i < uses->count && (!uses->at[i].program || uses->at[i].queue != queue))
        i++;
    use = i < uses->count ? &uses->at[i] : NULL;
    if (use && !use->event) {
        if (write && !use->write)
            use->since = ferry__section_now(queue);
        use->write |= write;
    } else if (!use || write) {
        added = add(uses, NULL, queue);
        added->program = true;
        added->write = write;
        added->since = ferry__section_now(queue);
        if (use)
            use->program = false; /* the use that was just added covers this work */
    }
}

static void let_go(struct ferry__use *use)
{
    ferry__event_release(use->event);
    ferry__queue_release(use->queue);
}

static void drop(struct ferry__uses *uses, unsigned i)
{
    let_go(&uses->at[i]);
    uses->at[i] = uses->at[--uses->count];
}

void ferry__uses_end_program(struct ferry__uses *uses, const ferry_queue *queue)
{
    unsigned i = 0;

    while (uses && i < uses->count)
        if (uses->at[i].program && uses->at[i].queue == queue)
            drop(uses, i);
        else
            i++;
}

/* Turns a use whose event is complete into one of the program, which may still read. */
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

/* The error of a use's work, from its event or from its destroyed queue; 0 if it has not failed. */
static int failure_of(const struct ferry__use *use, int answer)
{
    if (answer > 0 && use->since != UINT64_MAX)
        answer = ferry__section_failed_since(use->queue, use->since);
    return answer < 0 && use->write && !use->blameless ? answer : 0;
}

/*
 * 1 if the work is done; 0 if it is pending or its state cannot be determined; a negative code if
 * it is a failed writer.
 */
static int ask(const struct ferry__use *use)
{
    int answer = use->event ? ferry_event_query(use->event) : is_gone(use);
    int failed;

    if (!answer || (answer < 0 && atomic_load(&use->event->state) > 0))
        return 0;
    failed = failure_of(use, answer);
    return failed ? failed : 1;
}

/* Checks the uses of the past, each of which was ordered after the previous one. */
static int settle_past(struct ferry__uses *uses)
{
    int answer = 1, failed = 0;

    while (uses->past_count && (answer = ask(&uses->past[uses->past_first]))) {
        if (answer < 0)
            failed = answer;
        let_go(&uses->past[uses->past_first++]);
        uses->past_count--;
    }
    if (!uses->past_count)
        uses->past_first = 0;
    return failed;
}

int ferry__uses_settle(struct ferry__uses *uses)
{
    unsigned i = 0;
    int failed = uses ? settle_past(uses) : 0;

    while (uses && i < uses->count) {
        struct ferry__use *use = &uses->at[i];
        int answer = ask(use);

        if (answer < 0)
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
    unsigned i = 0;

    while (uses && i < uses->count) {
        const struct ferry__use *use = &uses->at[i];

        if (use->queue == q && use->program) /* the program reports its later work on this queue
                                              * itself */
            i++;
        else if (use->write && use->event && !use->blameless)
            bury(uses, i);
        else if (use->event || !use->program)
            drop(uses, i);
        else
            i++;
    }
}

unsigned ferry__uses_heritage(const struct ferry__uses *from)
{
    return from ? from->count + from->past_count : 0;
}

/* Whether the replica already has this failure among its past uses. */
static bool has(const struct ferry__uses *uses, const struct ferry__use *use)
{
    unsigned i;

    for (i = 0; i < uses->past_count; i++)
        if (uses->past[uses->past_first + i].event == use->event)
            return true;
    for (i = 0; i < uses->count; i++)
        if (uses->at[i].event == use->event && uses->at[i].write)
            return true;
    return false;
}

static void inherit(struct ferry__uses *to, const struct ferry__use *use)
{
    struct ferry__use *heir;

    if (!use->write || !use->event || use->blameless || has(to, use))
        return;
    heir = &to->past[to->past_first + to->past_count++];
    *heir = *use;
    heir->program = false;
    ferry__event_retain(heir->event);
    ferry__queue_retain(heir->queue);
}

void ferry__uses_inherit(struct ferry__uses *to, const struct ferry__uses *from)
{
    unsigned i;

    for (i = 0; from && i < from->past_count; i++)
        inherit(to, &from->past[from->past_first + i]);
    for (i = 0; from && i < from->count; i++)
        inherit(to, &from->at[i]);
}

/* Whether `q` executes later work after the use without a wait. */
static bool is_before(const struct ferry__use *use, const ferry_queue *q)
{
    return use->queue == q;
}

static bool concerns(const struct ferry__use *use, enum ferry__after after)
{
    return use->write || after == FERRY__AFTER_ALL;
}

/*
 * Records an event after the program's own use of a queue, when a thread has to wait for it; NULL
 * if there is nothing to wait for. Another thread may be destroying the queue.
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
        err = ferry__section_mark(q, out);
    pthread_mutex_unlock(&q->life);
    return err;
}

/*
 * Returns a failure of the program's stray work that precedes the work that the host waited for.
 * This failure is not attributed to any memory.
 */
static int tell_host(const struct ferry__use *use)
{
    ferry_queue *q = use->queue;

    return use->write && q == &q->device->queue ? ferry__section_tell(q) : 0;
}

static int after_event(const struct ferry__use *use, ferry_event *e, ferry_queue *q)
{
    bool told = use->write && !use->blameless;
    int err = q ? ferry__queue_order(q, e) : ferry_event_synchronize(e);

    /* a reader that failed is done; one that could not be waited for is not */
    if (!told && atomic_load(&e->state) < 0)
        err = 0;
    return err || q ? err : tell_host(use);
}

/*
 * Orders `q` after one use. After its event the program only reads, so only writers wait for that.
 */
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
            continue; /* the parent process submitted this work */
        if (use->event)
            ferry_event_synchronize(use->event);
        if (use->program && mark_program(use, &e))
            dev->ops->synchronize(dev->dev);
        else if (e)
            ferry_event_synchronize(e);
        ferry__event_release(e);
    }
}

/* Whether the use may have pending work. */
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
    while (uses && uses->past_count)
        let_go(&uses->past[uses->past_first + --uses->past_count]);
    if (uses)
        uses->past_first = 0;
}

void ferry__uses_free(struct ferry__uses *uses)
{
    ferry__uses_clear(uses);
    if (uses)
        free(uses->past);
    free(uses);
}
