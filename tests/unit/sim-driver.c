/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const ferry_plugin_ops *sim;
const struct sim_control *control;

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

    snprintf(path, sizeof(path), "%s/backends/.libs/ferry_sim.so", top ? top : ".");
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
    return ops;
}

bool sim_load(void)
{
    options.count = 0;
    log_text[0] = error_text[0] = '\0';
    error_code = 0;
    if (!sim)
        sim = load();
    return sim != NULL;
}

void sim_set(const char *key, const char *value)
{
    CU_ASSERT_FATAL(options.count < sizeof(options.keys) / sizeof(options.keys[0]));
    options.keys[options.count] = key;
    options.values[options.count++] = value;
}

void *sim_open(uint32_t index)
{
    void *dev = NULL;

    CU_ASSERT_FATAL(sim->device_open(sim->plugin, index, &dev) == 0);
    CU_ASSERT_FATAL(sim->native(dev, "sim_control", &control, sizeof(control)) == 0);
    return dev;
}

void sim_close(void *dev)
{
    ferry_plugin_counters c = sim_count(dev);

    CU_ASSERT_EQUAL(c.live_blocks, 0);
    CU_ASSERT_EQUAL(c.live_bytes, 0);
    CU_ASSERT_EQUAL(c.live_host_blocks, 0);
    CU_ASSERT_EQUAL(c.live_imports, 0);
    CU_ASSERT_EQUAL(c.live_maps, 0);
    CU_ASSERT_EQUAL(c.live_queues, 0);
    CU_ASSERT_EQUAL(c.live_events, 0);
    sim->device_close(dev);
}

/* ---- what a test asks ---- */

const char *sim_error(void)
{
    return error_text;
}

const char *sim_logged(void)
{
    return log_text;
}

bool sim_failed(int result, int code, const char *part)
{
    bool as_said = result == code && error_code == code && strstr(error_text, part);

    if (!as_said)
        printf("     got %d, \"%s\"\n", result, error_text);
    error_code = 0;
    error_text[0] = '\0';
    return as_said;
}

void *sim_block(void *dev, uint64_t bytes, uint32_t flags)
{
    void *handle = NULL;
    uint32_t out_flags = 99;

    CU_ASSERT_FATAL(sim->alloc(dev, NULL, bytes, flags, &handle, &out_flags) == 0);
    CU_ASSERT_FATAL(handle != NULL);
    CU_ASSERT_EQUAL((uintptr_t)handle % 64, 0);
    CU_ASSERT_EQUAL(out_flags, flags & FERRY_ALLOC_ZERO ? FERRY_ALLOC_WAS_ZEROED : 0);
    return handle;
}

void sim_free_block(void *dev, void *handle)
{
    CU_ASSERT_EQUAL(sim->free(dev, NULL, handle), 0);
}

ferry_ref sim_ref(void *handle, uint64_t offset)
{
    return (ferry_ref){ handle, offset };
}

ferry_cref sim_cref(const void *handle, uint64_t offset)
{
    return (ferry_cref){ handle, offset };
}

ferry_plugin_counters sim_count(void *dev)
{
    ferry_plugin_counters counters = { .struct_size = sizeof(counters) };

    CU_ASSERT_EQUAL(sim->counters(dev, &counters), 0);
    return counters;
}

void sim_put(void *dev, void *handle, const void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_H2D, sim_ref(handle, 0), sim_cref(bytes, 0), size), 0);
    CU_ASSERT_EQUAL(sim->queue_synchronize(dev, NULL), 0);
}

void sim_get(void *dev, const void *handle, void *bytes, uint64_t size)
{
    CU_ASSERT_EQUAL(
        sim->memcpy(dev, NULL, FERRY_MEMCPY_D2H, sim_ref(bytes, 0), sim_cref(handle, 0), size), 0);
    CU_ASSERT_EQUAL(sim->queue_synchronize(dev, NULL), 0);
}

bool sim_crashes(void (*touch)(void *argument), void *argument)
{
    const struct rlimit none = { 0, 0 };
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        touch(argument);
        _exit(0);
    }
    CU_ASSERT_FATAL(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}
