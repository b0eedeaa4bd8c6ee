/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CUDA plugin without ferry, the doubles' control, and the runtime's calls as a program makes
 * them. No header of CUDA is needed: its enums are ints here.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include "cuda-double.h"
#include "plugin-driver.h"

#include <stddef.h>

/* The vendor's numbers that the tests name. */
#define CUDA_INVALID_VALUE       1
#define CUDA_MEMORY_ALLOCATION   2
#define CUDA_ILLEGAL_ADDRESS     700
#define CUDA_UNKNOWN             999
#define CUDA_STREAM_NON_BLOCKING 1u
#define CUDA_DISABLE_TIMING      2u
#define CUDA_H2D                 1
#define CUDA_D2H                 2

/* The plugin's table; `control` is NULL where it runs on the real libraries. */
extern const ferry_plugin_ops *cuda;
extern const struct cuda_double_control *control;

/* The runtime, as the plugin has it. */
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
 * Loads the plugin. False, and the case is skipped, where it was not built, or finds no device; with
 * `on_double`, where it runs on the real libraries. Forgets options, and puts the doubles' variables
 * back to `devices` devices with a pool.
 */
bool cuda_load(int devices, bool on_double);

/*
 * The doubles with three devices, libnvrtc among them, and the first one's context current: what they forbid is found from
 * here on, and does not end the program. False as cuda_load.
 */
bool cuda_misuse_begin(void);
void cuda_misuse_end(void);
/* Whether what was found last has that in its sentence; it is forgotten. */
bool cuda_said(const char *part);

/* What the suite reports as: "NAME (double)", unless it runs on the real libraries. */
const char *cuda_suite(const char *name);

/* A function of the cuBLAS that the plugin has loaded. */
void *cuda_cublas(const char *name);

/* A device, opened; and closed, with a check that nothing of it is left. */
void *cuda_open(uint32_t index);
void cuda_close(void *dev);

void *cuda_block(void *dev, uint64_t bytes);
void cuda_free_block(void *dev, void *handle);
void *cuda_pinned(void *dev, uint64_t bytes);
/* Enqueued. */
void cuda_put(void *dev, void *handle, const void *bytes, uint64_t size);
/* Waited for. */
void cuda_get(void *dev, const void *handle, void *bytes, uint64_t size);

#endif
