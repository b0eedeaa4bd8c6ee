/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels compiled by the host's compiler: for simulated devices, and for tests of the sources.
 * They are slow.
 */
#ifndef FERRY_KERNELS_HOST_H
#define FERRY_KERNELS_HOST_H

#include "kernels/plan.h"

/* Few lanes, and several items per group, so that errors of either kind are detected. */
extern const struct kernel_target kernel_host_target;

/*
 * Runs all groups of a launch, one after the other, with the arguments of a run instead of the
 * launch's own.
 */
void kernel_host_run(const struct kernel_launch *launch, const union kernel_args *args,
                     unsigned char *const buffers[BUFFERS]);

#endif
