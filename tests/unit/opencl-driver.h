/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The OpenCL plugin without ferry, and the vendor's objects behind it.
 */
#ifndef OPENCL_DRIVER_H
#define OPENCL_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "plugin-driver.h"

extern const ferry_plugin_ops *ocl;
extern void *dev; /* the device that ocl_open has opened */

/* Options for what is opened from here on, up to a NULL: ocl_open(0, "f64", "off", NULL). */
bool ocl_open(uint32_t index, ...);
/* With a check that nothing is left. */
void ocl_close(void);
/* Loads the plugin; false, and the case is skipped, where there is no device of it. */
bool ocl_load(void);

/* A block; the counters. Failure is the test's. */
void *ocl_block(uint64_t bytes);
void ocl_free_block(void *handle);
ferry_plugin_counters ocl_count(void);

/* Copies on the default queue, waited for. */
void ocl_put(void *handle, uint64_t offset, const void *bytes, uint64_t size);
void ocl_get(const void *handle, uint64_t offset, void *bytes, uint64_t size);

/* The vendor objects behind the device. */
cl_context ocl_context(void);
cl_device_id ocl_id(void);
cl_command_queue ocl_queue(void);

#endif
