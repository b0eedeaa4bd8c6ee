/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/host.h"

#include "kernels/host_text.h"

#define HOST_PREFIX host_
#include "kernels/element.k"
#include "kernels/pack.k"
#include "kernels/pool.k"

const struct kernel_target kernel_host_target = { .vec = VEC, .group = GROUP, .busy = 3 };

/* Four vectors of outputs are for devices with more lanes than there are here. */
static host_kernel *const functions[KERNEL_COUNT] = {
    [KERNEL_COPY] = host_copy,
    [KERNEL_UNARY] = host_unary,
    [KERNEL_BINARY] = host_binary,
    [KERNEL_POOL] = host_pool,
    [KERNEL_POOL_LAST] = host_pool_last,
    [KERNEL_PACK] = host_pack,
    [KERNEL_CONVOLVE_1] = host_1_convolve,
    [KERNEL_CONVOLVE_2] = host_2_convolve,
};

void kernel_host_run(const struct kernel_launch *launch, unsigned char *const buffers[BUFFERS])
{
    for (int64_t group = 0; group < launch->groups; group++)
        functions[launch->kernel](group, buffers, &launch->args);
}
