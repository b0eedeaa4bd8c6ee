/* SPDX-License-Identifier: BSD-2-Clause */
/* The table "ferry.profile/1"; section.c sets the times of its sections. */
#include "sim.h"

#include <stdlib.h>

/* ---- the table ---- */

static int describe_clock(void *device, ferry_profile_clock *out)
{
    struct sim_why why = { 0 };

    sim_lock();
    (void)sim_alive(device, &why);
    sim_unlock();
    if (why.code)
        return sim_why_tell(&why);
    out->frequency = UINT64_C(1000000000);
    out->resolution = 1;
    out->ticks = (uint64_t)sim_now();
    out->host_ns = out->ticks;
    return 0;
}

static int set_profiled(struct sim_device *dev, void *handle, bool on)
{
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    sim_lock();
    if (!sim_queue_find(dev, handle, &queue, &why)) {
        if (queue->profiled == on)
            sim_why_set(&why, FERRY_EINVAL, "the queue is %s", on ? "profiled" : "not profiled");
        else
            queue->profiled = on;
    }
    sim_unlock();
    return sim_why_tell(&why);
}

static int start(void *dev, void *queue)
{
    return set_profiled(dev, queue, true);
}

static int stop(void *dev, void *queue)
{
    return set_profiled(dev, queue, false);
}

static int begin(void *dev, void *handle, void **out_section)
{
    struct sim_section *s = calloc(1, sizeof(*s));
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    if (!s)
        sim_why_set(&why, FERRY_ENOMEM, "out of host memory");
    sim_lock();
    if (s && !sim_queue_find(dev, handle, &queue, &why) && !queue->profiled)
        sim_why_set(&why, FERRY_EINVAL, "a section of a queue that is not profiled");
    if (!why.code) {
        s->queue = queue;
        s->first = sim_shared.seq + 1;
        s->last = UINT64_MAX;
        s->next = queue->sections;
        queue->sections = s;
    }
    sim_unlock();
    if (why.code)
        free(s);
    else
        *out_section = s;
    return sim_why_tell(&why);
}

static int end(void *dev, void *handle, void *section)
{
    struct sim_section *s = section;
    struct sim_queue *queue;
    struct sim_why why = { 0 };

    sim_lock();
    s->last = sim_shared.seq;
    if (s->queue && !s->queue->head)
        sim_section_detach(s);
    if (sim_queue_find(dev, handle, &queue, &why) && !s->why.code)
        s->why = why;
    sim_unlock();
    return sim_why_tell(&why);
}

static int read_times(void *dev, void *section, ferry_profile_times *out)
{
    const struct sim_section *s = section;
    struct sim_why why = { 0 };
    int done = 0;

    (void)dev;
    sim_lock();
    if (s->last == UINT64_MAX)
        sim_why_set(&why, FERRY_EINVAL, "a section that has not ended");
    else if (!s->queue || !s->queue->head || s->queue->head->seq > s->last)
        done = 1;
    if (done && s->why.code)
        why = s->why;
    if (done && !s->stamped)
        out->flags = FERRY_PROFILE_EMPTY;
    if (done && s->stamped) {
        out->begin = (uint64_t)s->begin;
        out->end = (uint64_t)s->end;
    }
    sim_unlock();
    return why.code ? sim_why_tell(&why) : done;
}

static void destroy(void *dev, void *section)
{
    (void)dev;
    sim_lock();
    sim_section_detach(section);
    sim_unlock();
    free(section);
}

const ferry_profile_table sim_profile = {
    .struct_size = sizeof(ferry_profile_table),
    .clock = describe_clock,
    .start = start,
    .stop = stop,
    .begin = begin,
    .end = end,
    .read = read_times,
    .destroy = destroy,
};
