/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device: it works in host memory, is synchronous, and offers the mandatory entries and
 * segments.
 */
#define _GNU_SOURCE
#include "openvino.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FERRY_PLUGIN(.name = "openvino", .version = PLUGIN_VERSION, .vendor = "ferry", .min_host_minor = 1);

static void *at(ferry_ref ref)
{
    return (char *)ref.handle + ref.offset;
}

static const void *const_at(ferry_cref ref)
{
    return (const char *)ref.handle + ref.offset;
}

/* ---- the device ---------------------------------------------------------------------------- */

static int device_count(void *plugin, uint32_t *out)
{
    const struct ov_api *api;
    int err = ov_open(&api);

    (void)plugin;
    if (!err)
        *out = 1;
    return err;
}

static int read_options(struct ov_device *d)
{
    const char *name = ov_host->option("device");
    int64_t threads = 0;
    int err = ov_host->option_integer("threads", 0, 4096, &threads);

    snprintf(d->name, sizeof d->name, "%s", name ? name : "CPU");
    if (threads)
        snprintf(d->threads, sizeof d->threads, "%d", (int)threads);
    return err;
}

/*
 * Sets properties for compiled and for loaded segments; the precision is F32, because some CPUs
 * would use BF16.
 */
static int set_properties(const struct ov_device *d)
{
    const char *const pairs[][2] = { { "PERFORMANCE_HINT", "LATENCY" },
                                     { "INFERENCE_PRECISION_HINT", "f32" },
                                     { "INFERENCE_NUM_THREADS", d->threads } };
    int err = 0;

    for (int i = 0; !err && i < 3; i++)
        if (pairs[i][1][0])
            err = ov_check(d->api,
                           d->api->ov_core_set_property(d->core, d->name, pairs[i][0], pairs[i][1]),
                           FERRY_ENODEV, pairs[i][0]);
    return err;
}

static int device_open(void *plugin, uint32_t index, void **out_dev)
{
    struct ov_device *d;
    int err;

    (void)plugin;
    if (index)
        return ov_host->error(FERRY_ENODEV, "there is one device, not %u", index);
    d = calloc(1, sizeof *d);
    if (!d)
        return ov_host->error(FERRY_ENOMEM, "no memory for the device");
    err = read_options(d);
    if (!err)
        err = ov_open(&d->api);
    if (!err)
        err = ov_check(d->api, d->api->ov_core_create(&d->core), FERRY_ENODEV, "ov_core_create");
    if (!err)
        err = set_properties(d);
    if (err) {
        if (d->core)
            d->api->ov_core_free(d->core);
        free(d);
        return err;
    }
    *out_dev = d;
    return 0;
}

static void device_close(void *dev)
{
    struct ov_device *d = dev;

    d->api->ov_core_free(d->core);
    free(d);
}

static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    const struct ov_device *d = dev;
    char *name = NULL;

    (void)plugin;
    if (index)
        return ov_host->error(FERRY_ENODEV, "there is one device, not %u", index);
    out->flags = FERRY_DEVICE_HOST_MEMORY | FERRY_DEVICE_POINTERS;
    if (d && !d->api->ov_core_get_property(d->core, d->name, "FULL_DEVICE_NAME", &name) && name) {
        snprintf(out->description, sizeof out->description, "OpenVINO %s: %s", d->name, name);
        d->api->ov_free(name);
    } else {
        snprintf(out->description, sizeof out->description, "OpenVINO");
    }
    return 0;
}

static int synchronize(void *dev)
{
    (void)dev; /* each entry has completed its work when it returns */
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------- */

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags)
{
    (void)dev;
    (void)queue;
    (void)flags;
    *out_flags = 0;
    if (bytes < INT64_MAX && !posix_memalign(out_handle, 64, (size_t)bytes))
        return 0;
    return ov_host->error(FERRY_ENOMEM, "%llu bytes", (unsigned long long)bytes);
}

static int free_block(void *dev, void *queue, void *handle)
{
    (void)dev;
    (void)queue;
    free(handle);
    return 0;
}

static int copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
                uint64_t bytes)
{
    (void)dev;
    (void)queue;
    (void)kind;
    memmove(at(dst), const_at(src), (size_t)bytes);
    return 0;
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    (void)dev;
    (void)queue;
    memset(at(dst), (int)(byte & 0xff), (size_t)bytes);
    return 0;
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    const float *from = const_at(x);
    float *to = at(y);

    (void)dev;
    (void)queue;
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    for (int64_t i = 0; i < n; i++)
        to[i] += (float)alpha * from[i];
    return 0;
}

static int extension(void *dev, const char *name, const void **out_table)
{
    (void)dev;
    if (strcmp(name, FERRY_GRAPH_EXTENSION) != 0)
        return FERRY_EUNSUPPORTED;
    *out_table = &ov_graph_table;
    return 0;
}

/* ---- the two symbols ----------------------------------------------------------------------- */

static const ferry_plugin_option options[] = {
    { .name = "library",
      .default_value = "",
      .description = "the path of OpenVINO's libopenvino_c.so; \"\": where configure found it",
      .type = FERRY_OPTION_STRING },
    { .name = "device",
      .default_value = "CPU",
      .description = "OpenVINO's device: CPU, GPU, NPU, …",
      .type = FERRY_OPTION_STRING },
    { .name = "threads",
      .default_value = "0",
      .description = "threads of a segment on the CPU; 0: as OpenVINO chooses",
      .type = FERRY_OPTION_INT },
};

static const ferry_plugin_ops ops = {
    .struct_size = sizeof(ferry_plugin_ops),
    .option_count = sizeof options / sizeof *options,
    .options = options,
    .option_size = sizeof *options,
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .alloc = alloc,
    .free = free_block,
    .memcpy = copy,
    .memset = set,
    .axpy = axpy,
    .synchronize = synchronize,
    .properties = properties,
    .extension = extension,
};

int ferry_plugin_open(const ferry_host *host, const ferry_plugin_ops **out)
{
    ov_host = host;
    *out = &ops;
    return 0;
}
