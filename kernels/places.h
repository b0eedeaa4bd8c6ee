/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the buffers of an operation's launches are, by FROM_…: what every plugin that launches kernels
 * makes of a run's references.
 */
#ifndef FERRY_KERNELS_PLACES_H
#define FERRY_KERNELS_PLACES_H

#include "kernels/plan.h"

struct kernel_place {
    ferry_cref ref;
    uint64_t bytes;   /* that it reaches over */
    const char *what; /* NULL: there is none */
};

/* Of a run, FROM_COUNT of them; what its operands reach over is for the plugin to check. */
void kernel_places_of_run(const struct kernel_plan *p, const ferry_op_run_args *run,
                          struct kernel_place *out);
/* Of packing `in` into `packed`. */
void kernel_places_of_packing(const struct kernel_plan *p, const ferry_cref *in, ferry_ref packed,
                              struct kernel_place *out);

/* The launch's numbers, with where each buffer begins; of a run its seed and scalars. `run` is NULL for packing. */
void kernel_numbers(const struct kernel_launch *l, const struct kernel_place *places,
                    const ferry_op_run_args *run, union kernel_args *out);

#endif
