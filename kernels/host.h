/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels compiled by the host's compiler: for simulated devices, for operations on the host
 * without the cpu plugin, and for tests of the sources. They are slow.
 */
#ifndef FERRY_KERNELS_HOST_H
#define FERRY_KERNELS_HOST_H

#include "kernels/plan.h"

/*
 * A target with few lanes and several items per group, so that errors of either kind are detected.
 */
extern const struct kernel_target kernel_host_target;

/* The memory and the numbers of a run. */
struct kernel_host_run {
    unsigned char *buffer[FROM_COUNT]; /* indexed by FROM_… */
    const double *scalars;             /* for UPDATE */
    uint64_t seed, offset;             /* for RANDOM */
};

/* Runs all groups of a launch, one after the other. */
void kernel_host_run(const struct kernel_launch *l, const struct kernel_host_run *run);

#endif
