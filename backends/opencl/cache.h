/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that were compiled before, by this process or another.
 */
#ifndef FERRY_OPENCL_CACHE_H
#define FERRY_OPENCL_CACHE_H

#include "opencl.h"

#define OCL_CACHE_KEY     1024 /* bytes of a key, its NUL among them */
#define OCL_CACHE_DEVICES 64   /* of a context, at most */

/* Whether programs for that device are to be kept, as far as the driver and the option say. */
bool ocl_cache_wanted(cl_device_id id, enum ocl_switch option);

/* Whether that text was found, compiled for the context's device with those options; *out is built. */
bool ocl_cache_load(const struct ocl_context *c, const char *const *lines, size_t count,
                    const char *options, cl_program *out);
/* Keeps what was built of it. */
void ocl_cache_store(const struct ocl_context *c, const char *const *lines, size_t count,
                     const char *options, cl_program program);

#endif
