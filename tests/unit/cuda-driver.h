/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CUDA plugin without ferry, the doubles' control, and the runtime's calls as a program makes
 * them. CUDA's headers are not needed: its enums are ints here.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include "cuda-double.h"
#include "plugin-driver.h"

#include <stddef.h>

/* The vendor's constants that the tests use. */
#define CUDA_INVALID_VALUE       1
#define CUDA_MEMORY_ALLOCATION   2
#define CUDA_ILLEGAL_ADDRESS     700
#define CUDA_UNKNOWN             999
#define CUDA_STREAM_NON_BLOCKING 1u
#define CUDA_DISABLE_TIMING      2u
#define CUDA_H2D                 1
#define CUDA_D2H                 2

/* The plugin's table; `control` is NULL with the real libraries. */
extern const ferry_plugin_ops *cuda;
extern const struct cuda_double_control *control;

/* The runtime that the plugin uses. */
struct cuda_runtime {
    int (*set_device)(int), (*get_device)(int *), (*last_error)(void);
    int (*stream_create)(void **, unsigned), (*stream_destroy)(void *), (*stream_sync)(void *);
    int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*exchange_mode)(int *);
    int (*event_create)(void **, unsigned), (*event_destroy)(void *),
        (*event_record)(void *, void *);
    int (*malloc)(void **, size_t), (*free)(void *), (*free_host)(void *);
    int (*memcpy_async)(void *, const void *, size_t, int, void *);
    int (*memset_async)(void *, int, size_t, void *);
};
extern struct cuda_runtime rt;

/*
 * Loads the plugin. Returns false, and skips the case, if it was not built or finds no device; with
 * `on_double`, also with the real libraries. Clears options, and resets the doubles' variables to
 * `devices` devices with a pool.
 */
bool cuda_load(int devices, bool on_double);

/*
 * Loads the doubles with three devices, including libnvrtc, and makes the first one's context
 * current: from here on errors of use are recorded and do not end the program. False as cuda_load.
 */
bool cuda_misuse_begin(void);
void cuda_misuse_end(void);
/* Whether the latest error of use contains the text; clears it. */
bool cuda_said(const char *part);

/* The title of the suite: "NAME (double)", or without the suffix with the real libraries. */
const char *cuda_suite(const char *name);

/* A function of the cuBLAS that the plugin has loaded. */
void *cuda_cublas(const char *name);

/* Opens a device; closes it, after a check that nothing of it is left. */
void *cuda_open(uint32_t index);
void cuda_close(void *dev);

void *cuda_block(void *dev, uint64_t bytes);
void cuda_free_block(void *dev, void *handle);
void *cuda_pinned(void *dev, uint64_t bytes);
/* Enqueues a copy to the device. */
void cuda_put(void *dev, void *handle, const void *bytes, uint64_t size);
/* Copies to the host, and waits. */
void cuda_get(void *dev, const void *handle, void *bytes, uint64_t size);

#endif
