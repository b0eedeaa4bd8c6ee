/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set that a queue is in while its head has not run: waiting for an event, ready to run, or
 * scheduled at a time. Each set is a pairing heap that links the queues themselves: the first one
 * is found quickly however many there are, and an insertion never allocates.
 */
#include "sim.h"

/* ---- heaps ---- */

/* Orders queues by their keys; of equal keys the younger queue comes first. */
static bool is_before(const struct sim_queue *a, const struct sim_queue *b)
{
    return a->key != b->key ? a->key < b->key : a->number > b->number;
}

/* Merges two heaps; the caller sets `beside` and `at` of the top. */
static struct sim_queue *join(struct sim_queue *a, struct sim_queue *b)
{
    struct sim_queue *top = is_before(b, a) ? b : a;
    struct sim_queue *under = top == a ? b : a;

    under->beside = top->under;
    if (under->beside)
        under->beside->at = &under->beside;
    under->at = &top->under;
    top->under = under;
    return top;
}

/* Merges a list of heaps into one: first in pairs, then the pairs. */
static struct sim_queue *gather(struct sim_queue *list)
{
    struct sim_queue *pairs = NULL, *top = NULL;

    while (list) {
        struct sim_queue *a = list, *b = a->beside;

        list = b ? b->beside : NULL;
        if (b)
            a = join(a, b);
        a->beside = pairs;
        pairs = a;
    }
    while (pairs) {
        struct sim_queue *pair = pairs;

        pairs = pair->beside;
        top = top ? join(top, pair) : pair;
    }
    return top;
}

static void add(struct sim_queue **heap, struct sim_queue *queue)
{
    struct sim_queue *top = *heap ? join(*heap, queue) : queue;

    top->beside = NULL;
    top->at = heap;
    *heap = top;
}

static void insert(struct sim_queue **heap, struct sim_queue *queue, int64_t key)
{
    queue->key = key;
    queue->under = NULL;
    queue->heap = heap;
    add(heap, queue);
}

void sim_queue_lift(struct sim_queue *queue)
{
    struct sim_queue *rest;

    if (!queue->heap)
        return;
    *queue->at = queue->beside;
    if (queue->beside)
        queue->beside->at = queue->at;
    rest = gather(queue->under);
    if (rest)
        add(queue->heap, rest);
    queue->heap = NULL;
}

/* ---- the head, and its time ---- */

bool sim_queue_waits(const struct sim_queue *queue)
{
    const struct sim_command *head = queue->head;

    return head && !queue->running && head->kind == SIM_WAIT && !head->event->done;
}

bool sim_queue_ready(const struct sim_queue *queue)
{
    return queue->head && !queue->running && !sim_queue_waits(queue);
}

void sim_queue_schedule(struct sim_queue *queue)
{
    struct sim_command *head = queue->head;
    int64_t *engine = &queue->dev->engine_free[head->engine];
    int64_t start = head->submitted;

    if (head->scheduled)
        return;
    if (queue->free_at > start)
        start = queue->free_at;
    if (head->kind == SIM_WAIT && head->event->finish > start)
        start = head->event->finish;
    if (head->engine != SIM_NO_ENGINE && *engine > start)
        start = *engine;
    head->finish = start + head->cost;
    head->scheduled = true;
    if (head->engine != SIM_NO_ENGINE)
        *engine = head->finish;
    sim_queue_place(queue);
}

/*
 * The time at which the head must start. Moving the bytes takes time: a copy starts early enough to
 * end in time, if the host moves eight bytes per nanosecond.
 */
int64_t sim_queue_due(const struct sim_queue *queue)
{
    const struct sim_command *head = queue->head;
    int64_t lead = head->kind == SIM_COPY ? (int64_t)(head->bytes / 8) : 0;

    if (head->moved)
        lead = 0;
    return head->finish - (lead < head->cost ? lead : head->cost);
}

/* ---- sets ---- */

void sim_queue_place(struct sim_queue *queue)
{
    const struct sim_command *head = queue->head;

    sim_queue_lift(queue);
    if (!head || queue->running)
        return;
    if (sim_queue_waits(queue))
        insert(&head->event->waiting, queue, (int64_t)head->seq);
    else if (!head->scheduled)
        insert(&queue->dev->ready, queue, (int64_t)head->seq);
    else
        insert(&queue->dev->due, queue, sim_queue_due(queue));
}

void sim_event_let_go(struct sim_event *event)
{
    while (event->waiting)
        sim_queue_place(event->waiting);
}

struct sim_queue *sim_queue_earliest(struct sim_device *dev)
{
    while (dev->ready)
        sim_queue_schedule(dev->ready);
    return dev->due;
}
