/* SPDX-License-Identifier: BSD-2-Clause */
/* The OpenCL plugin without ferry, and its vendor objects. */
#ifndef OPENCL_DRIVER_H
#define OPENCL_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "plugin-driver.h"

extern const ferry_plugin_ops *ocl;
extern void *dev; /* the device that ocl_open opened */

/* Options for devices opened from here on, ended by NULL: ocl_open(0, "f64", "off", NULL). */
bool ocl_open(uint32_t index, ...);
/* Closes the device, and checks that all its objects were freed. */
void ocl_close(void);
/* Loads the plugin; returns false, and skips the case, if it has no device. */
bool ocl_load(void);

/* A block; the counters. Failures fail the test. */
void *ocl_block(uint64_t bytes);
void ocl_free_block(void *handle);
ferry_plugin_counters ocl_count(void);

/* Synchronous copies on the default queue. */
void ocl_put(void *handle, uint64_t offset, const void *bytes, uint64_t size);
void ocl_get(const void *handle, uint64_t offset, void *bytes, uint64_t size);

/* The vendor objects of the device. */
cl_context ocl_context(void);
cl_device_id ocl_id(void);
cl_command_queue ocl_queue(void);

#endif
