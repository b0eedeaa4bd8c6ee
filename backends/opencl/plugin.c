/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin: its descriptor and its table.
 */
#include "opencl.h"

FERRY_PLUGIN(.name = "opencl", .version = PLUGIN_VERSION, .vendor = "ferry", .min_host_minor = 1);

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .option_count = OCL_OPTIONS,
    .options = ocl_options,
    .option_size = sizeof(ferry_plugin_option),
    .device_count = ocl_device_count,
    .device_open = ocl_device_open,
    .device_close = ocl_device_close,
    .alloc = ocl_alloc,
    .free = ocl_free,
    .memcpy = ocl_memcpy,
    .memset = ocl_memset,
    .axpy = ocl_axpy,
    .synchronize = ocl_synchronize,
    .properties = ocl_properties,
    .supports = ocl_supports,
    .supports_convert = ocl_supports_convert,
    .memory_info = ocl_memory_info,
    .counters = ocl_counters,
    .host_alloc = ocl_host_alloc,
    .host_free = ocl_host_free,
    .import_host = ocl_import_host,
    .unimport_host = ocl_unimport_host,
    .map = ocl_map,
    .unmap = ocl_unmap,
    .peer_access = ocl_peer_access,
    .peer_copy = ocl_peer_copy,
    .queue_create = ocl_queue_create,
    .queue_destroy = ocl_queue_destroy,
    .queue_synchronize = ocl_queue_synchronize,
    .queue_wrap = ocl_queue_wrap,
    .queue_native = ocl_queue_native,
    .event_record = ocl_event_record,
    .event_query = ocl_event_query,
    .event_synchronize = ocl_event_synchronize,
    .event_destroy = ocl_event_destroy,
    .queue_wait = ocl_queue_wait,
    .native = ocl_native,
    .adopt = ocl_adopt,
    .scal = ocl_scal,
    .copy = ocl_copy,
    .fill = ocl_fill,
    .convert = ocl_convert,
    .dot = ocl_dot,
    .asum = ocl_asum,
    .sumsq = ocl_sumsq,
    .gemv = ocl_gemv,
    .gemm = ocl_gemm,
    .extension = ocl_extension,
};

FERRY_API int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    struct ocl_settings settings;
    int err;

    ocl_host = host;
    err = ocl_settings_read(&settings); /* read here too, so that errors in the options are reported
                                         * early */
    if (!err)
        *out = &ops;
    return err;
}
