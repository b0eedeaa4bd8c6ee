/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ferry_plugin_ops *ocl;
void *dev;

static struct {
    const char *keys[8], *values[8];
    size_t count;
} options;

static _Thread_local char error_text[512];
static _Thread_local int error_code;

/* ---- the host table ---- */

static int host_error(int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(error_text, sizeof(error_text), fmt, args);
    va_end(args);
    error_code = code;
    return code;
}

static void host_log(int level, const char *fmt, ...)
{
    (void)level, (void)fmt;
}

static const char *host_option(const char *key)
{
    for (size_t i = 0; i < options.count; i++)
        if (!strcmp(options.keys[i], key))
            return options.values[i];
    return NULL;
}

static const ferry_host host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
};

/* ---- the plugin ---- */

static const ferry_plugin_ops *load(void)
{
    const char *top = getenv("FERRY_TEST_BUILDDIR");
    const ferry_plugin_ops *ops = NULL;
    int (*open)(const ferry_host *, const ferry_plugin_ops **);
    char path[4096];
    void *library;

    snprintf(path, sizeof(path), "%s/backends/.libs/ferry_opencl.so", top ? top : ".");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        CU_FAIL("dlopen");
        printf("     %s\n", dlerror());
        return NULL;
    }
    *(void **)&open = dlsym(library, "ferry_plugin_open");
    CU_ASSERT_FATAL(open && open(&host, &ops) == 0);
    return ops;
}

bool ocl_load(void)
{
    uint32_t count = 0;

    ocl_unset();
    if (!ocl)
        ocl = load();
    if (!ocl)
        return false;
    if (ocl->device_count(ocl->plugin, &count) || count == 0) {
        ferry_test_skip("there is no OpenCL device: %s", error_text);
        return false;
    }
    return true;
}

void ocl_unset(void)
{
    options.count = 0;
    error_text[0] = '\0';
    error_code = 0;
}

void ocl_set(const char *key, const char *value)
{
    if (options.count == sizeof(options.keys) / sizeof(options.keys[0]))
        abort();
    options.keys[options.count] = key;
    options.values[options.count++] = value;
}

bool ocl_open(uint32_t index, ...)
{
    const char *key;
    va_list pairs;

    if (!ocl_load())
        return false;
    va_start(pairs, index);
    while ((key = va_arg(pairs, const char *)))
        ocl_set(key, va_arg(pairs, const char *));
    va_end(pairs);
    if (ocl->device_open(ocl->plugin, index, &dev)) {
        printf("     %s\n", error_text);
        CU_FAIL_FATAL("device_open");
    }
    return true;
}

void ocl_close(void)
{
    ferry_plugin_counters c = ocl_count();

    CU_ASSERT_EQUAL(c.live_blocks, 0);
    CU_ASSERT_EQUAL(c.live_bytes, 0);
    CU_ASSERT_EQUAL(c.live_host_blocks, 0);
    CU_ASSERT_EQUAL(c.live_imports, 0);
    CU_ASSERT_EQUAL(c.live_maps, 0);
    CU_ASSERT_EQUAL(c.live_queues, 0);
    CU_ASSERT_EQUAL(c.live_events, 0);
    ocl->device_close(dev);
    dev = NULL;
}

/* ---- what a test asks ---- */

bool ocl_failed(int result, int code, const char *part)
{
    bool as_said = result == code && error_code == code && strstr(error_text, part);

    if (!as_said)
        printf("     got %d, \"%s\"\n", result, error_text);
    error_code = 0;
    error_text[0] = '\0';
    return as_said;
}

void *ocl_block(uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags = 99;

    if (ocl->alloc(dev, NULL, bytes, 0, &handle, &flags)) {
        printf("     %s\n", error_text);
        CU_FAIL_FATAL("alloc");
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(handle);
    CU_ASSERT_EQUAL(flags, 0);
    return handle;
}

void ocl_free_block(void *handle)
{
    CU_ASSERT_EQUAL(ocl->synchronize(dev), 0);
    CU_ASSERT_EQUAL(ocl->free(dev, NULL, handle), 0);
}

ferry_ref ocl_ref(void *handle, uint64_t offset)
{
    return (ferry_ref){ handle, offset };
}

ferry_cref ocl_cref(const void *handle, uint64_t offset)
{
    return (ferry_cref){ handle, offset };
}

ferry_plugin_counters ocl_count(void)
{
    ferry_plugin_counters c;

    memset(&c, 0, sizeof(c));
    c.struct_size = sizeof(c);
    CU_ASSERT_EQUAL(ocl->counters(dev, &c), 0);
    return c;
}

void ocl_put(void *handle, uint64_t offset, const void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL_FATAL(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_H2D, ocl_ref(handle, offset), ocl_cref(bytes, 0), size),
        0);
    CU_ASSERT_EQUAL_FATAL(ocl->synchronize(dev), 0);
}

void ocl_get(const void *handle, uint64_t offset, void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL_FATAL(
        ocl->memcpy(dev, NULL, FERRY_MEMCPY_D2H, ocl_ref(bytes, 0), ocl_cref(handle, offset), size),
        0);
    CU_ASSERT_EQUAL_FATAL(ocl->synchronize(dev), 0);
}

static void *native(const char *what)
{
    void *object = NULL;

    CU_ASSERT_EQUAL_FATAL(ocl->native(dev, what, &object, sizeof(object)), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    return object;
}

cl_context ocl_context(void)
{
    return native("cl_context");
}

cl_device_id ocl_id(void)
{
    return native("cl_device_id");
}

cl_command_queue ocl_queue(void)
{
    return native("cl_command_queue");
}
