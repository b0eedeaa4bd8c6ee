/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the buffers of an operation's launches, by FROM_…, from a run's references, for every
 * plugin that launches kernels.
 */
#ifndef FERRY_KERNELS_PLACES_H
#define FERRY_KERNELS_PLACES_H

#include "kernels/plan.h"

struct kernel_place {
    ferry_cref ref;
    uint64_t bytes;   /* the number of bytes that it spans */
    const char *what; /* NULL: there is no buffer */
};

/* The buffers of a run, FROM_COUNT of them; the plugin checks the ranges of the operands. */
void kernel_places_of_run(const struct kernel_plan *p, const ferry_op_run_args *run,
                          struct kernel_place *out);
/* The buffers for packing `in` into `packed`. */
void kernel_places_of_packing(const struct kernel_plan *p, const ferry_cref *in, ferry_ref packed,
                              struct kernel_place *out);

/*
 * The launch's arguments with the offset of each buffer, and for a run its seed and scalars. `run`
 * is NULL for packing.
 */
void kernel_numbers(const struct kernel_launch *l, const struct kernel_place *places,
                    const ferry_op_run_args *run, union kernel_args *out);

#endif
