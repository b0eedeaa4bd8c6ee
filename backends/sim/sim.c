/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin: its descriptor and its table.
 */
#include "sim.h"

#include <ferry/graph_plugin.h>
#include <string.h>

FERRY_PLUGIN(.name = "sim", .version = PLUGIN_VERSION, .vendor = "ferry");

static int extension(void *device, const char *name, const void **out_table)
{
    const struct sim_device *dev = device;
    struct sim_why why = { 0 };

    if (!strcmp(name, FERRY_OP_EXTENSION) && dev->set.ops == SIM_OPS_ALL)
        *out_table = &sim_operations;
    else if (!strcmp(name, FERRY_GRAPH_EXTENSION) && dev->set.graph != SIM_GRAPH_OFF)
        *out_table = &sim_graphs;
    else if (!strcmp(name, FERRY_PROFILE_EXTENSION) && dev->set.ops != SIM_OPS_MINIMAL)
        *out_table = &sim_profile;
    else
        sim_why_set(&why, FERRY_EUNSUPPORTED, "there is no extension \"%.64s\"", name);
    return sim_why_tell(&why);
}

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .option_count = SIM_OPTIONS,
    .options = sim_options,
    .option_size = sizeof(ferry_plugin_option),
    .device_count = sim_device_count,
    .device_open = sim_device_open,
    .device_close = sim_device_close,
    .alloc = sim_alloc,
    .free = sim_free,
    .memcpy = sim_memcpy,
    .memset = sim_memset,
    .axpy = sim_axpy,
    .synchronize = sim_synchronize,
    .properties = sim_properties,
    .supports = sim_supports,
    .memory_info = sim_memory_info,
    .counters = sim_counters,
    .host_alloc = sim_host_alloc,
    .host_free = sim_host_free,
    .import_host = sim_import_host,
    .unimport_host = sim_unimport_host,
    .map = sim_map,
    .unmap = sim_unmap,
    .peer_access = sim_peer_access,
    .peer_copy = sim_peer_copy,
    .queue_create = sim_queue_create,
    .queue_destroy = sim_queue_destroy,
    .queue_synchronize = sim_queue_synchronize,
    .queue_native = sim_queue_native,
    .event_record = sim_event_record,
    .event_query = sim_event_query,
    .event_synchronize = sim_event_synchronize,
    .event_destroy = sim_event_destroy,
    .queue_wait = sim_queue_wait,
    .native = sim_native,
    .scal = sim_scal,
    .copy = sim_copy,
    .fill = sim_fill,
    .convert = sim_convert,
    .dot = sim_dot,
    .asum = sim_asum,
    .sumsq = sim_sumsq,
    .gemv = sim_gemv,
    .gemm = sim_gemm,
    .extension = extension,
    .owns = sim_owns,
};

/* The table of a plugin whose imported memory needs neither map nor unmap. */
static ferry_plugin_ops unmapped;

FERRY_API int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    const char *map = host->option("map");

    sim_shared.host = host;
    sim_watch_forks();
    *out = &ops;
    if (map && !strcmp(map, "off")) {
        unmapped = ops;
        unmapped.map = NULL;
        unmapped.unmap = NULL;
        *out = &unmapped;
    }
    return 0;
}
