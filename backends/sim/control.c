/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim.h"

#include <stddef.h>

/* Runs the first command that can run, of one queue or of all. (locked) */
static bool step_once(struct sim_device *dev, const struct sim_queue *only)
{
    struct sim_queue *first = only ? sim_queues_at(&dev->queues, only) : dev->ready;

    if (!first || !sim_queue_ready(first))
        return false;
    sim_queue_run(first);
    return true;
}

static uint64_t step_some(struct sim_device *dev, const struct sim_queue *only, uint64_t n)
{
    uint64_t ran = 0;

    sim_lock();
    if (dev->set.clock == SIM_CLOCK_MANUAL)
        while (ran < n && step_once(dev, only))
            ran++;
    sim_unlock();
    return ran;
}

static uint64_t step(void *sim, uint64_t n)
{
    return step_some(sim, NULL, n);
}

static uint64_t step_queue(void *sim, void *queue, uint64_t n)
{
    struct sim_device *dev = sim;

    return step_some(dev, queue ? queue : &dev->main, n);
}

static uint64_t run_all(void *sim)
{
    return step_some(sim, NULL, UINT64_MAX);
}

static uint64_t pending(void *sim)
{
    const struct sim_device *dev = sim;
    uint64_t count = 0;

    sim_lock();
    for (const struct sim_queue *queue = dev->queues.first; queue; queue = queue->next)
        for (const struct sim_command *c = queue->head; c; c = c->next)
            count++;
    sim_unlock();
    return count;
}

static void fail_next(void *sim, uint32_t call, uint64_t nth, int code)
{
    struct sim_device *dev = sim;

    if (call >= SIM_CALL_COUNT)
        return;
    sim_lock();
    dev->faults[call].now = nth ? dev->faults[call].calls + nth : 0;
    dev->faults[call].now_code = code;
    sim_unlock();
}

static void fail_later(void *sim, uint32_t call, uint64_t nth, int code)
{
    struct sim_device *dev = sim;

    if (call >= SIM_CALL_COUNT)
        return;
    sim_lock();
    dev->faults[call].later = nth ? dev->faults[call].calls + nth : 0;
    dev->faults[call].later_code = code;
    sim_unlock();
}

static uint64_t calls(void *sim, uint32_t call)
{
    struct sim_device *dev = sim;
    uint64_t count = 0;

    sim_lock();
    if (call < SIM_CALL_COUNT)
        count = dev->faults[call].calls;
    sim_unlock();
    return count;
}

static void lose(void *sim)
{
    struct sim_device *dev = sim;

    sim_lock();
    sim_lose(dev);
    sim_unlock();
}

static void hold(void *sim, int on)
{
    struct sim_device *dev = sim;

    sim_lock();
    dev->held = on != 0;
    sim_device_wake(dev);
    sim_unlock();
}

const struct sim_control sim_control = {
    .struct_size = sizeof(struct sim_control),
    .step = step,
    .step_queue = step_queue,
    .run_all = run_all,
    .pending = pending,
    .fail_next = fail_next,
    .fail_later = fail_later,
    .calls = calls,
    .lose = lose,
    .hold = hold,
};
