/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between tests and the doubles. The table is found by its symbol in the libcudart
 * that the plugin has loaded; the real library lacks the symbol.
 *
 * Environment, read whenever the devices are counted: CUDA_DOUBLE_DEVICES (1), CUDA_DOUBLE_MEMORY
 * (bytes, 1 GiB), CUDA_DOUBLE_DRIVER (ok, none, old, no-device), CUDA_DOUBLE_POOLS (1),
 * CUDA_DOUBLE_UNIFIED (0; integrated, page-tables, tegra: an early integrated device),
 * CUDA_DOUBLE_PEERS (1), CUDA_DOUBLE_LATE (microseconds before each command runs),
 * CUDA_DOUBLE_CAPABILITY (90; 53 for the early integrated device), CUDA_DOUBLE_NOT_READY (kept:
 * cudaGetLastError returns it too), CUDA_DOUBLE_FAIL (CALL:N:CODE). CUDA_DOUBLE_PTX (files of PTX,
 * separated by colons) makes the doubles execute kernels that nvcc compiled, and
 * CUDA_DOUBLE_PTX_RUN sets the options of the execution (tests/ptx/ptx.h, ptx_options_parse); both
 * are read once. The double of HIP has HIP_DOUBLE_… in place of CUDA_DOUBLE_…, no device by
 * default, and HIP_DOUBLE_ARCH (gfx90a).
 */
#ifndef FERRY_CUDA_DOUBLE_CONTROL_H
#define FERRY_CUDA_DOUBLE_CONTROL_H

#include <stdint.h>

#define CUDA_DOUBLE_CONTROL "ferry_cuda_double"

/* Codes above this are statuses of cuBLAS and cuDNN: the status of their headers is added. */
#define CUDA_DOUBLE_STATUS 100000

struct cuda_double_control {
    /*
     * The n-th call of that name from now fails with that code of the vendor; n 0 cancels. "" is
     * any call, "*" any call that allocates or submits work; calls that query work or free objects
     * only fail in a context that has ended.
     */
    void (*fail)(const char *call, unsigned n, int code);
    /* The call succeeds and its command fails when it runs, like a kernel that faults. */
    void (*fail_later)(const char *call, unsigned n, int code);
    /* The number of calls so far; "" and "*" as above. */
    unsigned (*calls)(const char *call);
    /* Stops all streams while `on`, except those that a thread waits for. */
    void (*hold)(int on);
    /* Stops one stream while `on`, even if a thread waits for it. */
    void (*hold_stream)(void *stream, int on);
    /* The number of contexts on a device. */
    int (*contexts)(int device);
    /*
     * Errors of use: they end the program, unless they are tolerated; `misuse` is the text of the
     * latest.
     */
    void (*tolerate)(int on);
    unsigned (*misuses)(void);
    const char *(*misuse)(void);
    /* Live objects. */
    uint64_t (*live_bytes)(int device);
    unsigned (*live_blocks)(int device), (*live_pinned)(void), (*live_streams)(void);
    unsigned (*live_events)(void), (*live_handles)(void);
    /*
     * Bytes copied from or to unpinned memory; bytes copied between devices, directly and through
     * the host.
     */
    uint64_t (*staged_bytes)(void), (*direct_bytes)(void), (*indirect_bytes)(void);
    uint64_t (*threshold)(int device); /* of the latest pool */
    unsigned (*live_pools)(void), (*live_graphs)(void);
};

#endif
