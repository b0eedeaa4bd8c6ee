/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernels compiled by the host's compiler: the functions that a module's kernels run. The
 * vendor's compiler need not be installed.
 */
#include "module.h"

#include "backends/cuda/target.h"

#define VEC         CUDA_VEC
#define GROUP       CUDA_GROUP
#define HOST_PREFIX double_
#include "kernels/list.h"

#include <string.h>

/* Some kernels are for wider vectors than these. */
#define DECLARE(kernel, function, program, numbers) \
    __attribute__((weak)) void double_##function(int64_t, uint8_t *const *, const void *);
KERNEL_LIST(DECLARE)

#include "kernels/all.h"

static const struct module_kernel kernels[] = {
#define A_KERNEL(kernel, function, program, numbers) \
    { #function, double_##function, sizeof(struct numbers##_args) },
    KERNEL_LIST(A_KERNEL)
};

const struct module_kernel *module_kernel(const char *name)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (!strcmp(kernels[i].name, name) && kernels[i].run)
            return &kernels[i];
    return NULL;
}

const unsigned module_block = GROUP;
