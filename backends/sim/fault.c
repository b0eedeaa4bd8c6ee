/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes calls fail, by request or because the device is lost. */
#include "sim.h"

#include <inttypes.h>

static bool is_running(const struct sim_device *dev)
{
    for (const struct sim_queue *queue = dev->queues.first; queue; queue = queue->next)
        if (queue->running)
            return true;
    return false;
}

/*
 * Loses the device. No later call waits for it, so that the program may free the memory that its
 * commands used.
 */
void sim_lose(struct sim_device *dev)
{
    dev->lost = true;
    for (struct sim_queue *queue = dev->queues.first; queue; queue = queue->next)
        sim_queue_drop(queue, FERRY_ELOST, "the device is lost");
    while (is_running(dev))
        pthread_cond_wait(&sim_shared.changed, &sim_shared.lock);
}

int sim_alive(const struct sim_device *dev, struct sim_why *why)
{
    return dev->lost ? sim_why_set(why, FERRY_ELOST, "the device is lost") : 0;
}

static int fault_at(struct sim_fault *fault)
{
    fault->calls++;
    return fault->now == fault->calls ? fault->now_code : 0;
}

int sim_fault(struct sim_device *dev, uint32_t call, struct sim_why *why)
{
    int any = fault_at(&dev->faults[SIM_CALL_ANY]);
    int code = fault_at(&dev->faults[call]);

    if (!code)
        code = any;
    if (!code)
        return 0;
    return sim_why_set(why, code, "call %" PRIu64 " of its kind fails, as requested",
                       dev->faults[call].calls);
}

int sim_fault_later(struct sim_device *dev, uint32_t call)
{
    const struct sim_fault *fault = &dev->faults[call];

    return fault->later == fault->calls ? fault->later_code : 0;
}
