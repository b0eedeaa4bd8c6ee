/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The chain of queues from a waiting queue, over the events that block it, to the queue that has to
 * run first. The chain is kept between commands, because a queue that waits does not change, nor do
 * the queues before it in the chain.
 */
#include "sim.h"

#include <stdlib.h>

void sim_path_start(struct sim_path *path, struct sim_queue *from)
{
    path->from = from;
    path->count = 0;
    path->broken = sim_shared.broken;
}

void sim_path_end(struct sim_path *path)
{
    free(path->steps);
}

/* Whether the step's queue still waits for the same event. */
static bool holds(const struct sim_step *step)
{
    return sim_queue_waits(step->queue) && step->queue->head->seq == step->seq;
}

/*
 * Adds a step. If out of memory the step is not stored, and the next search walks the chain again.
 */
static bool add_step(struct sim_path *path, struct sim_queue *queue)
{
    if (path->count == path->room) {
        size_t room = path->room ? path->room * 2 : 16;
        struct sim_step *steps = realloc(path->steps, room * sizeof(*steps));

        if (!steps)
            return false;
        path->steps = steps;
        path->room = room;
    }
    path->steps[path->count++] =
        (struct sim_step){ queue, queue->head->event->queue, queue->head->seq };
    return true;
}

struct sim_queue *sim_path_first(struct sim_path *path)
{
    struct sim_queue *queue = path->from;
    bool kept = true;

    if (path->broken != sim_shared.broken)
        sim_path_start(path, path->from);
    while (path->count && !holds(&path->steps[path->count - 1]))
        path->count--;
    if (path->count)
        queue = path->steps[path->count - 1].behind;
    for (; sim_queue_waits(queue); queue = queue->head->event->queue)
        kept = kept && add_step(path, queue);
    return queue;
}
