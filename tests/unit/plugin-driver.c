/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "plugin-driver.h"
#include "host-options.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *keys[16], *values[16];
    size_t count;
} options;

static _Thread_local char error_text[512];
static _Thread_local int error_code;
static char log_text[512];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

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
    va_list args;

    (void)level;
    pthread_mutex_lock(&log_lock);
    va_start(args, fmt);
    vsnprintf(log_text, sizeof(log_text), fmt, args);
    va_end(args);
    pthread_mutex_unlock(&log_lock);
}

static const char *host_option(const char *key)
{
    for (size_t i = options.count; i-- > 0;)
        if (!strcmp(options.keys[i], key))
            return options.values[i];
    return NULL;
}

HOST_OPTIONS(host_option, host_error)

static const ferry_host host = {
    .struct_size = sizeof(ferry_host),
    .abi_major = FERRY_ABI_MAJOR,
    .abi_minor = FERRY_ABI_MINOR,
    .error = host_error,
    .log = host_log,
    .option = host_option,
    HOST_OPTIONS_ENTRIES,
};

/* ---- the plugin ---- */

const ferry_plugin_ops *driver_load(const char *name, void **out_library)
{
    const char *top = getenv("FERRY_TEST_BUILDDIR");
    const ferry_plugin_ops *ops = NULL;
    int (*open)(const ferry_host *, const ferry_plugin_ops **);
    char path[4096];
    void *library;

    if (strchr(name, '/'))
        snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
    else
        snprintf(path, sizeof(path), "%s/backends/.libs/ferry_%s.so", top ? top : ".", name);
    if (access(path, R_OK) != 0) {
        ferry_test_skip("%s was not built", path);
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        CU_FAIL("dlopen");
        printf("     %s\n", dlerror());
        return NULL;
    }
    *(void **)&open = dlsym(library, "ferry_plugin_open");
    CU_ASSERT_FATAL(open && open(&host, &ops) == 0);
    if (out_library)
        *out_library = library;
    return ops;
}

void driver_set(const char *key, const char *value)
{
    if (options.count == sizeof(options.keys) / sizeof(options.keys[0]))
        abort(); /* may be called outside a suite, without assertions */
    options.keys[options.count] = key;
    options.values[options.count++] = value;
}

void driver_reset(void)
{
    options.count = 0;
    log_text[0] = error_text[0] = '\0';
    error_code = 0;
}

/* ---- queries of a test --- */

const char *driver_error(void)
{
    return error_text;
}

const char *driver_logged(void)
{
    return log_text;
}

bool driver_failed(int result, int code, const char *part)
{
    bool as_said = result == code && error_code == code && strstr(error_text, part);

    if (!as_said)
        printf("     got %d, \"%s\"\n", result, error_text);
    error_code = 0;
    return as_said;
}

ferry_ref driver_ref(void *handle, uint64_t offset)
{
    return (ferry_ref){ handle, offset };
}

ferry_cref driver_cref(const void *handle, uint64_t offset)
{
    return (ferry_cref){ handle, offset };
}

/* ---- a device ---- */

ferry_plugin_counters driver_count(const ferry_plugin_ops *ops, void *dev)
{
    ferry_plugin_counters counters = { .struct_size = sizeof(counters) };

    CU_ASSERT_EQUAL(ops->counters(dev, &counters), 0);
    return counters;
}

void driver_close(const ferry_plugin_ops *ops, void *dev)
{
    ferry_plugin_counters c = driver_count(ops, dev);

    CU_ASSERT_EQUAL(c.live_blocks, 0);
    CU_ASSERT_EQUAL(c.live_bytes, 0);
    CU_ASSERT_EQUAL(c.live_host_blocks, 0);
    CU_ASSERT_EQUAL(c.live_imports, 0);
    CU_ASSERT_EQUAL(c.live_maps, 0);
    CU_ASSERT_EQUAL(c.live_queues, 0);
    CU_ASSERT_EQUAL(c.live_events, 0);
    ops->device_close(dev);
}

void driver_put(const ferry_plugin_ops *ops, void *dev, ferry_ref to, const void *bytes,
                uint64_t size)
{
    CU_ASSERT_EQUAL_FATAL(ops->memcpy(dev, NULL, FERRY_MEMCPY_H2D, to, driver_cref(bytes, 0), size),
                          0);
    CU_ASSERT_EQUAL_FATAL(ops->queue_synchronize(dev, NULL), 0);
}

void driver_get(const ferry_plugin_ops *ops, void *dev, ferry_cref from, void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL_FATAL(
        ops->memcpy(dev, NULL, FERRY_MEMCPY_D2H, driver_ref(bytes, 0), from, size), 0);
    CU_ASSERT_EQUAL_FATAL(ops->queue_synchronize(dev, NULL), 0);
}
