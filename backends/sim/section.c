/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The times of a queue's sections. A command begins at its modelled time, unless the one before it
 * took longer than its model, and ends when it is complete.
 */
#include "sim.h"

static void stamp(struct sim_section *s, const struct sim_command *c, int64_t begin, int64_t end)
{
    if (!s->stamped || begin < s->begin)
        s->begin = begin;
    if (!s->stamped || end > s->end)
        s->end = end;
    s->stamped = true;
    if (c->why.code && !s->why.code)
        s->why = c->why;
}

void sim_section_stamp(struct sim_queue *queue, const struct sim_command *c)
{
    int64_t begin = c->finish - c->cost, end = sim_now();
    struct sim_section **link = &queue->sections, *s;

    if (begin < queue->stamped)
        begin = queue->stamped;
    if (end < c->finish)
        end = c->finish;
    if (end < begin)
        end = begin;
    if (c->engine != SIM_NO_ENGINE)
        queue->stamped = end;
    while ((s = *link)) {
        if (c->engine != SIM_NO_ENGINE && c->seq >= s->first && c->seq <= s->last)
            stamp(s, c, begin, end);
        if (s->last == UINT64_MAX || (queue->head && queue->head->seq <= s->last)) {
            link = &s->next; /* more commands may follow */
            continue;
        }
        *link = s->next;
        s->queue = NULL;
    }
}

void sim_section_forget(struct sim_queue *queue)
{
    struct sim_section *s;

    while ((s = queue->sections)) {
        queue->sections = s->next;
        s->queue = NULL;
    }
}

void sim_section_detach(struct sim_section *s)
{
    struct sim_section **link = s->queue ? &s->queue->sections : NULL;

    if (!link)
        return;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    s->queue = NULL;
}
