/* SPDX-License-Identifier: BSD-2-Clause */
/* Stored programs, which this process or another one compiled before. */
#ifndef FERRY_OPENCL_CACHE_H
#define FERRY_OPENCL_CACHE_H

#include "opencl.h"

#define OCL_CACHE_KEY     1024 /* the size of a key, including its NUL */
#define OCL_CACHE_DEVICES 64   /* the maximum number of devices of a context */

/* Whether programs for that device are stored, according to the driver and the option. */
bool ocl_cache_wanted(cl_device_id id, enum ocl_switch option);

/*
 * Loads the stored binary of a source for the context's device and the options. False if there is
 * none; *out is a built program.
 */
bool ocl_cache_load(const struct ocl_context *c, const char *const *lines, size_t count,
                    const char *options, cl_program *out);
/* Stores the binary of a built program. */
void ocl_cache_store(const struct ocl_context *c, const char *const *lines, size_t count,
                     const char *options, cl_program program);

#endif
