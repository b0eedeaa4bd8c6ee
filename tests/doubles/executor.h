/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernels that tests/ptx executes instead of those compiled by the host's compiler: all kernels of
 * the files that CUDA_DOUBLE_PTX names (separated by colons; the first file that has a kernel
 * provides it), and those of an image that is itself PTX.
 */
#ifndef FERRY_CUDA_DOUBLE_EXECUTOR_H
#define FERRY_CUDA_DOUBLE_EXECUTOR_H

#include "double.h"

#include "tests/ptx/ptx.h"

/* Whether CUDA_DOUBLE_PTX is set. (locked) */
bool executor_is_on(void);
/* Whether CUDA_DOUBLE_PTX_RUN requests reports of uninitialised bytes. (locked) */
bool executor_tracks(void);
/*
 * Finds a kernel in the files of CUDA_DOUBLE_PTX; NULL if no file has it for this capability. A
 * file that is not PTX is an error of use. (locked)
 */
const struct ptx_kernel *executor_kernel(const char *name);
/* Parses an image that is PTX with entries. NULL, after an error of use, if it is not. (locked) */
struct ptx_module *executor_parse(const char *image);

struct executor_launch;

/*
 * Makes the argument of a command that runs the kernel: resolves the first `pointers` parameters,
 * which may be NULL, and copies all. A kernel of the program may access an address outside of all
 * blocks: this ends the context and is not an error of use. (locked)
 */
size_t executor_launch_size(const struct ptx_kernel *kernel);
cudaError_t executor_launch_take(struct executor_launch *l, const struct ptx_kernel *kernel,
                                 const uint32_t *grid, const uint32_t *block,
                                 struct command *command, struct device *device, void **params,
                                 unsigned pointers, bool is_own);
/*
 * The function `run` of a command; a fault ends the context, and is an error of use except in the
 * case above.
 */
int executor_launch_run(void *argument);

#endif
