/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sim-driver.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const ferry_plugin_ops *sim;
const struct sim_control *control;

bool sim_load(void)
{
    driver_reset();
    if (!sim)
        sim = driver_load("sim", NULL);
    return sim != NULL;
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
    driver_close(sim, dev);
}

/* ---- queries of a test --- */

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

void sim_put(void *dev, void *handle, const void *bytes, uint64_t size)
{
    driver_put(sim, dev, driver_ref(handle, 0), bytes, size);
}

void sim_get(void *dev, const void *handle, void *bytes, uint64_t size)
{
    driver_get(sim, dev, driver_cref(handle, 0), bytes, size);
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
