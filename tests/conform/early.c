/* SPDX-License-Identifier: BSD-2-Clause */
#include "kit.h"

#include <inttypes.h>

/*
 * Listing devices must not create a context. A context is not visible from outside, but the memory
 * and threads that it needs must be allocated by device_open. A vendor's library may allocate
 * something, above all threads, when devices are counted; then opening one must allocate more. A
 * plugin without libraries of its own must allocate almost nothing, and no thread may run its code.
 * Pages of files do not count, because a driver's library, which contains a compiler, is read at
 * that time.
 */

#define MUCH  (INT64_C(8) << 20) /* bytes */
#define TIMES 4

struct cost {
    int64_t bytes;
    int threads, files;
};

static struct cost cost_of(const struct kit_footprint *before, const struct kit_footprint *after,
                           int64_t pages)
{
    int64_t heap = (int64_t)after->heap - (int64_t)before->heap;

    return (struct cost){ heap > pages ? heap : pages, after->threads - before->threads,
                          after->files - before->files };
}

void kit_counts_without_threads(void)
{
    int threads = kit_threads_of_the_plugin();

    kit_case("the threads before a device is opened");
    if (threads)
        kit_fail("%d run%s the plugin's own code: the context is created before a device is opened",
                 threads, threads == 1 ? "s" : "");
}

void kit_counts_without_context(const struct kit_footprint *loaded,
                                const struct kit_footprint *counted, bool alone)
{
    struct kit_footprint opened;
    struct cost counting, opening;

    kit_footprint(&opened);
    kit_case("resources of ferry_plugin_open, device_count and properties, and of device_open");
    counting = cost_of(loaded, counted, (int64_t)counted->memory - (int64_t)loaded->memory);
    opening = cost_of(counted, &opened, (int64_t)opened.resident - (int64_t)counted->resident);
    if (counting.threads <= 0 && counting.bytes < MUCH)
        return;
    if (!alone && (opening.threads > 0 || opening.files > 0 || opening.bytes > counting.bytes / 16))
        return;
    kit_fail("%d threads and %" PRId64 " KiB, and then %d threads, %d files and %" PRId64
             " KiB: the context is created before a device is opened",
             counting.threads, counting.bytes >> 10, opening.threads, opening.files,
             opening.bytes >> 10);
}

static void count_again(void)
{
    ferry_plugin_properties p;
    uint32_t devices = 0;

    kit_options_allowed(true);
    kit_ok(kit.ops.device_count(kit.ops.plugin, &devices), "device_count");
    kit_options_allowed(false);
    if (devices != kit.devices)
        kit_fail("%u devices, but %u before", devices, kit.devices);
    for (uint32_t i = 0; i < devices; i++)
        kit_properties(NULL, i, &p);
}

void kit_counts_once(void)
{
    kit_does_not_grow("device_count and properties", count_again, TIMES);
}
