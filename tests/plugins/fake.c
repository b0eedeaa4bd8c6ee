/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin that computes on the host, and, built with one of the switches below, a plugin with one
 * error. tests/plugins/build.sh lists them.
 *
 * FAKE_NAME is its name. With FERRY_TEST_TRACK=FILE it appends a line for each call: "NAME loaded",
 * "NAME opened", "NAME device 0".
 */
#define _GNU_SOURCE
#include <ferry/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif

#ifndef FAKE_NO_DESCRIPTOR
FERRY_PLUGIN(.name = FAKE_NAME, .version = "1.0", .vendor = "ferry's tests",
#ifdef FAKE_WRONG_MAGIC
             .magic = 0x12345678u,
#endif
#ifdef FAKE_SHORT_SIZE
             .struct_size = 24u,
#endif
#ifdef FAKE_HUGE_SIZE
             .struct_size = 0xfffffff0u,
#endif
#ifdef FAKE_NEWER_MINOR
             .abi_minor = FERRY_ABI_MINOR + 7u,
#endif
#ifdef FAKE_NEEDS_NEWER_HOST
             .min_host_minor = FERRY_ABI_MINOR + 7u,
#endif
#ifdef FAKE_OTHER_MAJOR
             .abi_major = FERRY_ABI_MAJOR + 1u,
#endif
#ifdef FAKE_CPU
             .cpu_features = UINT32_C(1) << 30,
#endif
#ifdef FAKE_SANITIZER
             .sanitizer = FERRY_SANITIZER_MEMORY,
#endif
);
#endif

static const ferry_host *host;
static int opened; /* number of times */

/* ---- record of calls ------------------------------------------------------------------------ */

static void track(const char *what)
{
    const char *path = getenv("FERRY_TEST_TRACK");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (file) {
        fprintf(file, "%s %s\n", FAKE_NAME, what);
        fclose(file);
    }
}

__attribute__((constructor)) static void on_load(void)
{
#ifdef FAKE_CRASHES
    abort();
#endif
    track("loaded");
}

#ifdef FAKE_TYPED
/* Reads an option of every type over a default, and records the values. */
static int read_options(uint32_t *out_devices)
{
    char text[8192], folder[4096] = "none";
    int64_t devices = 1;
    double rate = 0.5;
    uint32_t flag = 0, word = 0;
    uint64_t bytes = 7;
    int err = host->option_integer("devices", 1, 8, &devices);

    if (!err)
        err = host->option_real("rate", 0, 1, &rate);
    if (!err)
        err = host->option_boolean("flag", &flag);
    if (!err)
        err = host->option_size("bytes", 1, 1 << 20, &bytes);
    if (!err)
        err = host->option_enum("word", "off|on|auto", &word);
    if (err)
        return err;
    if (host->cache_folder(folder, sizeof(folder)) != 0)
        snprintf(folder, sizeof(folder), "none");
    snprintf(text, sizeof(text), "%d %g %u %d %u %s", (int)devices, rate, flag, (int)bytes, word,
             folder);
    track(text);
    *out_devices = (uint32_t)devices;
    return 0;
}
#endif

#ifdef FAKE_PAIRS
/* Reports that it can convert to F64, and records the call. */
static int supports_convert(void *dev, uint32_t x_dtype, uint32_t y_dtype)
{
    (void)dev, (void)x_dtype;
    return y_dtype == FERRY_F64;
}

static int convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x,
                   uint32_t y_dtype, ferry_ref y)
{
    (void)dev, (void)queue, (void)n, (void)x_dtype, (void)x, (void)y;
    track(y_dtype == FERRY_F64 ? "to F64" : "to another");
    return FERRY_EUNSUPPORTED;
}
#endif

/* ---- the device: the host ------------------------------------------------------------------- */

static int count(void *plugin, uint32_t *out)
{
    const char *devices = host->option("devices");

    (void)plugin;
#ifdef FAKE_TYPED
    return read_options(out);
#endif
#ifdef FAKE_COUNT_FAILS
    return host->error(FERRY_EDEVICE, "vendorInit: VENDOR_NO_DRIVER (%d)", 35);
#endif
#ifdef FAKE_NO_DEVICES
    devices = "0";
#endif
#ifdef FAKE_MANY_DEVICES
    devices = "4097";
#endif
    *out = devices ? (uint32_t)atoi(devices) : 2;
    return 0;
}

static int open_device(void *plugin, uint32_t index, void **out_dev)
{
    (void)plugin;
#ifdef FAKE_DEVICE_FAILS
    return host->error(FERRY_EDEVICE, "vendorContext: VENDOR_BUSY on %u", index);
#endif
#ifdef FAKE_DEVICE_HANGS
    while (index == 1)
        pause();
#endif
#ifdef FAKE_DEVICE_EXITS
    if (index == 1)
        exit(3);
#endif
#ifdef FAKE_SPAWNS
    if (index == 0 && fork() == 0) {
        setsid(); /* like a daemon of the driver, which keeps open descriptors */
        for (;;) {
            track("daemon");
            usleep(50000);
        }
    }
    if (index == 1)
        abort();
#endif
#ifdef FAKE_CHATTERS
    printf("driver: welcome to device %u\n", index);
    (void)!write(STDOUT_FILENO, "driver: 1.0\n", 12);
#endif
    track(index ? "device 1" : "device 0");
    *out_dev = &opened;
    return 0;
}

static void close_device(void *dev)
{
    (void)dev;
    track("closed");
}

static int alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
                 uint32_t *out_flags)
{
    (void)dev;
    (void)queue;
    (void)flags;
    *out_handle = aligned_alloc(64, (size_t)(bytes + 63) & ~(size_t)63);
    if (out_flags)
        *out_flags = 0;
    return *out_handle ? 0
                       : host->error(FERRY_ENOMEM, "aligned_alloc of %lu", (unsigned long)bytes);
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
    memmove((char *)dst.handle + dst.offset, (const char *)src.handle + src.offset, bytes);
    return 0;
}

static int set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    (void)dev;
    (void)queue;
    memset((char *)dst.handle + dst.offset, (int)(byte & 0xff), bytes);
    return 0;
}

static int axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
                ferry_ref y)
{
    const float *from = (const float *)((const char *)x.handle + x.offset);
    float *to = (float *)((char *)y.handle + y.offset);

    (void)dev;
    (void)queue;
    if (dtype != FERRY_F32)
        return FERRY_EUNSUPPORTED;
    for (int64_t i = 0; i < n; i++)
        to[i] += (float)alpha * from[i];
    return 0;
}

static int synchronize(void *dev)
{
    (void)dev;
    return 0;
}

/* ---- memory shared with the host, and its possible errors ----------------------------------- */

#define UNIFIED_REFUSES 2
#define UNIFIED_DEAF    3 /* the device keeps seeing the bytes from the time of the import */
#define UNIFIED_LOST    4
#define UNIFIED_SLOW    5 /* each map and unmap takes as long as a copy of all bytes */

#ifdef FAKE_UNIFIED
#define PAGE 4096

static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin;
    (void)index;
    out->flags = FERRY_DEVICE_POINTERS | FERRY_DEVICE_UNIFIED;
    if (FAKE_UNIFIED == UNIFIED_SLOW)
        out->flags |= FERRY_DEVICE_MAP_MAY_COPY;
    out->host_alignment = PAGE;
    out->memory_total = UINT64_C(1) << (dev ? 31 : 30); /* more is known after it is opened */
    strcpy(out->description, dev ? "as it is" : "as it seems");
    return 0;
}

static int import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle)
{
    (void)dev;
    (void)flags;
    if ((uintptr_t)ptr % PAGE || bytes % PAGE)
        return host->error(FERRY_EINVAL, "vendorImport: VENDOR_MISALIGNED");
    if (FAKE_UNIFIED == UNIFIED_REFUSES)
        return FERRY_EUNSUPPORTED;
    if (FAKE_UNIFIED == UNIFIED_LOST)
        return host->error(FERRY_ELOST, "vendorImport: VENDOR_GONE");
    *out_handle = FAKE_UNIFIED == UNIFIED_DEAF ? aligned_alloc(PAGE, bytes) : ptr;
    return 0;
}

static int unimport_host(void *dev, void *handle)
{
    (void)dev;
    if (FAKE_UNIFIED == UNIFIED_DEAF)
        free(handle);
    return 0;
}

#if FAKE_UNIFIED == UNIFIED_SLOW
/* Maps a gigabyte per second: the host's memory is faster. */
static uint64_t mapped;

static int unmap(void *dev, void *queue, void *handle)
{
    (void)dev;
    (void)queue;
    (void)handle;
    usleep((useconds_t)(mapped / 1000));
    return 0;
}

static int map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access)
{
    mapped = bytes;
    return unmap(dev, queue, handle);
}
#endif
#endif

/* ---- the table ------------------------------------------------------------------------------ */

static const ferry_plugin_option options[] = {
    { .name = "devices",
      .default_value = "2",
      .description = "number of devices",
      .type = FERRY_OPTION_INT },
    { .name = "delay",
      .default_value = "0",
      .description = "duration of opening it, in ms",
      .type = FERRY_OPTION_INT },
    { .name = "mode",
      .default_value = "slow",
      .description = "how it computes",
      .values = "slow|fast",
      .type = FERRY_OPTION_ENUM },
    { .name = "scale",
      .default_value = "1.5",
      .description = "a scale",
      .type = FERRY_OPTION_REAL },
};

#ifdef FAKE_HOST_PROCESSORS
static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin, (void)index, (void)dev;
    out->flags = FERRY_DEVICE_HOST_PROCESSORS;
    return 0;
}
#endif

#ifdef FAKE_MEMORY
static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin, (void)index, (void)dev;
    out->memory_total = (uint64_t)FAKE_MEMORY << 30;
    return 0;
}
#endif

#ifdef FAKE_OWNS_TWO
/* Returns neither 0 nor 1. */
static int owns(void *dev, const void *handle)
{
    (void)dev, (void)handle;
    return 2;
}
#endif

/* The table of a later minor version: more entries than this ferry knows. */
static const struct {
    ferry_plugin_ops ops;
    void (*later[4])(void);
} table = { .ops = {
#if defined(FAKE_NEWER_MINOR)
                .struct_size = sizeof(ferry_plugin_ops) + 4 * sizeof(void (*)(void)),
#elif defined(FAKE_OLDER_MINOR)
                .struct_size = offsetof(ferry_plugin_ops, properties),
#else
                .struct_size = sizeof(ferry_plugin_ops),
#endif
                .option_count = 4,
                .option_size = sizeof(ferry_plugin_option),
                .options = options,
                .device_count = count,
                .device_open = open_device,
                .device_close = close_device,
                .alloc = alloc,
                .free = free_block,
                .memcpy = copy,
#ifndef FAKE_MISSING_ENTRY
                .memset = set,
#endif
                .axpy = axpy,
                .synchronize = synchronize,
#ifdef FAKE_UNIFIED
                .properties = properties,
                .import_host = import_host,
                .unimport_host = unimport_host,
#if FAKE_UNIFIED == UNIFIED_SLOW
                .map = map,
                .unmap = unmap,
#endif
#endif
#if defined(FAKE_HOST_PROCESSORS) || defined(FAKE_MEMORY)
                .properties = properties,
#endif
#ifdef FAKE_OWNS_TWO
                .owns = owns,
#endif
#ifdef FAKE_PAIRS
                .convert = convert,
                .supports_convert = supports_convert,
#endif
            } };

#ifdef FAKE_NO_ENTRY
#define ferry_plugin_open ferry_plugin_open_under_another_name
#endif

int ferry_plugin_open(const ferry_host *services, const ferry_plugin_ops **out);

#ifdef FAKE_NO_ENTRY
FERRY_API
#endif
int ferry_plugin_open(const ferry_host *services, const ferry_plugin_ops **out)
{
    const char *delay;

    host = services;
    opened++;
    track("opened");
    delay = host->option("delay");
    if (delay)
        usleep((useconds_t)atoi(delay) * 1000);
#ifdef FAKE_HANGS
    for (;;)
        pause();
#endif
#ifdef FAKE_OPEN_FAILS
    return host->error(FERRY_EPLUGIN, "libvendor.so.7: no driver on this machine");
#endif
    (void)set;
    *out = &table.ops;
    return 0;
}
