/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/host.h"

#define VEC         8
#define GROUP       4
#define HOST_PREFIX host_
#include "kernels/all.h"

const struct kernel_target kernel_host_target = {
    .vec = VEC, .group = GROUP, .busy = 3, .has_f64 = true, .sums_nothing = true
};

typedef void host_kernel(i64 group, u8 *const *buffers, const void *args);

/* unavailable: convolve_4 needs vectors of 16 lanes */
#define host_convolve_4 NULL

static host_kernel *const functions[KERNEL_COUNT] = {
#define HOST_KERNEL(kernel, function, program, numbers) [KERNEL_##kernel] = host_##function,
    KERNEL_LIST(HOST_KERNEL)
};

void kernel_host_run(const struct kernel_launch *l, const struct kernel_host_run *run)
{
    union kernel_args args = l->args;
    unsigned char *buffers[BUFFERS];

    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = run->buffer[l->from[i]];
    kernel_seed(l, run->seed, run->offset, &args);
    kernel_scalars(l, run->scalars, &args);
    for (int64_t group = 0; group < l->groups; group++)
        functions[l->kernel](group, buffers, &args);
}
