/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the block that a range of host memory belongs to, and whether the host may access it now.
 */
#include "sim.h"

#include <inttypes.h>

uint64_t sim_whole_pages(uint64_t bytes)
{
    return (bytes + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
}

struct sim_host *sim_host_find(struct sim_device *dev, const void *ptr, uint64_t bytes)
{
    uintptr_t address = (uintptr_t)ptr;

    for (struct sim_host *host = dev->hosts; host; host = host->next) {
        uintptr_t start = (uintptr_t)host->view;

        if (address >= start && address - start < host->span &&
            bytes <= host->span - (address - start))
            return host;
    }
    return NULL;
}

int sim_host_check(struct sim_device *dev, const void *ptr, uint64_t bytes, uint32_t access,
                   struct sim_why *why)
{
    struct sim_host *host = sim_host_find(dev, ptr, 1);
    uint32_t mapped;
    uint64_t end;

    if (!host || !host->import || !dev->set.map)
        return 0;
    mapped = host->import->mapped;
    if (!mapped || (access & ~mapped))
        return sim_why_set(why, FERRY_EINVAL,
                           "%" PRIu64 " bytes at host %p belong to the device: they are %s", bytes,
                           ptr, mapped ? "mapped for reading only" : "not mapped");
    end = (uint64_t)((uintptr_t)ptr - (uintptr_t)host->import->host_view) + bytes;
    if (end > sim_whole_pages(host->import->mapped_bytes))
        return sim_why_set(why, FERRY_EINVAL,
                           "%" PRIu64 " bytes at host %p: only %" PRIu64 " bytes are mapped", bytes,
                           ptr, host->import->mapped_bytes);
    return 0;
}
