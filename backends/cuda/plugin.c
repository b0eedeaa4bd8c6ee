/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin: its descriptor and its table. Opening it does not call the driver.
 */
#include "cuda.h"

FERRY_PLUGIN(.name = CUDA_PLUGIN, .version = PLUGIN_VERSION, .vendor = "ferry",
             .min_host_minor = 1);

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .option_count = CUDA_OPTIONS,
    .options = cuda_options,
    .option_size = sizeof(ferry_plugin_option),
    .device_count = cuda_device_count,
    .device_open = cuda_device_open,
    .device_close = cuda_device_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .memcpy = cuda_memcpy,
    .memset = cuda_memset,
    .axpy = cuda_axpy,
    .synchronize = cuda_synchronize,
    .properties = cuda_properties,
    .supports = cuda_supports,
    .memory_info = cuda_memory_info,
    .counters = cuda_counters,
    .trim = cuda_trim,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .import_host = cuda_import_host,
    .unimport_host = cuda_unimport_host,
    .map = cuda_map,
    .unmap = cuda_unmap,
    .peer_access = cuda_peer_access,
    .peer_copy = cuda_peer_copy,
    .queue_create = cuda_queue_create,
    .queue_destroy = cuda_queue_destroy,
    .queue_synchronize = cuda_queue_synchronize,
    .queue_wrap = cuda_queue_wrap,
    .queue_native = cuda_queue_native,
    .event_record = cuda_event_record,
    .event_query = cuda_event_query,
    .event_synchronize = cuda_event_synchronize,
    .event_destroy = cuda_event_destroy,
    .queue_wait = cuda_queue_wait,
    .native = cuda_native,
    .adopt = cuda_adopt,
    .scal = cuda_scal,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .convert = cuda_convert,
    .dot = cuda_dot,
    .asum = cuda_asum,
    .sumsq = cuda_sumsq,
    .gemv = cuda_gemv,
    .gemm = cuda_gemm,
    .owns = cuda_owns,
    .extension = cuda_extension,
    .supports_convert = cuda_supports_convert,
};

FERRY_API int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    cuda_host = host;
    *out = &ops;
    return 0;
}
