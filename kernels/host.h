/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels as the host's compiler makes them: for simulated devices, and for tests of the text
 * itself. Not fast.
 */
#ifndef FERRY_KERNELS_HOST_H
#define FERRY_KERNELS_HOST_H

#include "kernels/plan.h"

/* Few lanes, and several items to a group: what goes wrong with either shows. */
extern const struct kernel_target kernel_host_target;

/* Runs all groups of a launch, one after the other, with the numbers of a run in place of its own. */
void kernel_host_run(const struct kernel_launch *launch, const union kernel_args *args,
                     unsigned char *const buffers[BUFFERS]);

#endif
