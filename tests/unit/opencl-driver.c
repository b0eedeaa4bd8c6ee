/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "opencl-driver.h"

#include <stdarg.h>
#include <stdio.h>

const ferry_plugin_ops *ocl;
void *dev;

/* ---- the plugin ---- */

bool ocl_load(void)
{
    uint32_t count = 0;

    driver_reset();
    if (!ocl)
        ocl = driver_load("opencl", NULL);
    if (!ocl)
        return false;
    if (ocl->device_count(ocl->plugin, &count) || count == 0) {
        ferry_test_skip("there is no OpenCL device: %s", driver_error());
        return false;
    }
    return true;
}

bool ocl_open(uint32_t index, ...)
{
    const char *key;
    va_list pairs;

    if (!ocl_load())
        return false;
    va_start(pairs, index);
    while ((key = va_arg(pairs, const char *)))
        driver_set(key, va_arg(pairs, const char *));
    va_end(pairs);
    if (ocl->device_open(ocl->plugin, index, &dev)) {
        printf("     %s\n", driver_error());
        CU_FAIL_FATAL("device_open");
    }
    return true;
}

void ocl_close(void)
{
    driver_close(ocl, dev);
    dev = NULL;
}

/* ---- queries of a test --- */

void *ocl_block(uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags = 99;

    if (ocl->alloc(dev, NULL, bytes, 0, &handle, &flags)) {
        printf("     %s\n", driver_error());
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

ferry_plugin_counters ocl_count(void)
{
    return driver_count(ocl, dev);
}

void ocl_put(void *handle, uint64_t offset, const void *bytes, uint64_t size)
{
    driver_put(ocl, dev, driver_ref(handle, offset), bytes, size);
}

void ocl_get(const void *handle, uint64_t offset, void *bytes, uint64_t size)
{
    driver_get(ocl, dev, driver_cref(handle, offset), bytes, size);
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
