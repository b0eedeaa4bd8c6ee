/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a test says to the doubles, and what they say of the plugin. The table is found by its symbol
 * in the libcudart that the plugin has loaded; the real one has none.
 *
 * Environment, read whenever the devices are counted: CUDA_DOUBLE_DEVICES (1), CUDA_DOUBLE_MEMORY
 * (bytes, 1 GiB), CUDA_DOUBLE_DRIVER (ok, none, old, no-device), CUDA_DOUBLE_POOLS (1),
 * CUDA_DOUBLE_UNIFIED (0; integrated, page-tables, tegra: an old integrated one), CUDA_DOUBLE_PEERS (1), CUDA_DOUBLE_LATE
 * (microseconds before each command runs), CUDA_DOUBLE_CAPABILITY (90; 53 of an old integrated one),
 * CUDA_DOUBLE_NOT_READY (kept: cudaGetLastError has it too), CUDA_DOUBLE_FAIL (CALL:N:CODE).
 * CUDA_DOUBLE_PTX (files of PTX, separated by colons) has kernels executed as compiled by nvcc, and
 * CUDA_DOUBLE_PTX_RUN says how (tests/ptx/ptx.h, ptx_options_parse); both are read once.
 */
#ifndef FERRY_CUDA_DOUBLE_CONTROL_H
#define FERRY_CUDA_DOUBLE_CONTROL_H

#include <stdint.h>

#define CUDA_DOUBLE_CONTROL "ferry_cuda_double"

/* Codes of cuBLAS's and cuDNN's own are beyond this: a status as it stands in their headers. */
#define CUDA_DOUBLE_STATUS 100000

struct cuda_double_control {
    /*
     * The n-th call of that name from now fails with that code of the vendor; n 0: none does. "" is
     * any call, "*" any that wants memory or hands over work: those that ask how work went, and give
     * back, fail where a context has ended.
     */
    void (*fail)(const char *call, unsigned n, int code);
    /* It is accepted and fails when it runs, as a kernel that faults does. */
    void (*fail_later)(const char *call, unsigned n, int code);
    /* How often it was called so far; "" and "*" as above. */
    unsigned (*calls)(const char *call);
    /* Streams stand still while `on`, but for what somebody waits for. */
    void (*hold)(int on);
    /* The one stream stands still while `on`, whoever waits for it. */
    void (*hold_stream)(void *stream, int on);
    /* Contexts that exist on a device. */
    int (*contexts)(int device);
    /* Errors of use: they end the program, unless they are tolerated; the latest as text. */
    void (*tolerate)(int on);
    unsigned (*misuses)(void);
    const char *(*misuse)(void);
    /* What exists. */
    uint64_t (*live_bytes)(int device);
    unsigned (*live_blocks)(int device), (*live_pinned)(void), (*live_streams)(void);
    unsigned (*live_events)(void), (*live_handles)(void);
    /* Bytes copied from unpinned memory or to it; between devices, directly and not. */
    uint64_t (*staged_bytes)(void), (*direct_bytes)(void), (*indirect_bytes)(void);
    uint64_t (*threshold)(int device); /* of the latest pool */
    unsigned (*live_pools)(void);
};

#endif
