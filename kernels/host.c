/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernels/host.h"

#include "kernels/host_text.h"

#define HOST_PREFIX host_
#include "kernels/convert.k"
#include "kernels/element.k"
#include "kernels/pack.k"
#include "kernels/pool.k"
#include "kernels/random.k"
#include "kernels/slope.k"
#include "kernels/table.k"
#include "kernels/update.k"

const struct kernel_target kernel_host_target = {
    .vec = VEC, .group = GROUP, .busy = 3, .has_f64 = true, .sums_nothing = true
};

/* Four vectors of outputs are for devices with more lanes than the host target. */
static host_kernel *const functions[KERNEL_COUNT] = {
    [KERNEL_COPY] = host_copy,
    [KERNEL_CONVERT_COPY] = host_convert_copy,
    [KERNEL_CONVERT_ANY] = host_convert_any,
    [KERNEL_UNARY] = host_unary,
    [KERNEL_BINARY] = host_binary,
    [KERNEL_POOL] = host_pool,
    [KERNEL_POOL_LAST] = host_pool_last,
    [KERNEL_PACK] = host_pack,
    [KERNEL_CONVOLVE_1] = host_convolve_1,
    [KERNEL_CONVOLVE_2] = host_convolve_2,
    [KERNEL_DEPTHWISE] = host_depthwise,
    [KERNEL_SLIDE] = host_slide,
    [KERNEL_DIRECT] = host_direct,
    [KERNEL_REDUCE] = host_reduce,
    [KERNEL_MOMENTS] = host_moments,
    [KERNEL_SOFTMAX] = host_softmax,
    [KERNEL_LRN] = host_lrn,
    [KERNEL_RESIZE] = host_resize,
    [KERNEL_ROI_POOL] = host_roi_pool,
    [KERNEL_IM2COL] = host_im2col,
    [KERNEL_COL2IM] = host_col2im,
    [KERNEL_GATHER] = host_gather,
    [KERNEL_SCATTER_ADD] = host_scatter_add,
    [KERNEL_RANDOM] = host_random_numbers,
    [KERNEL_UPDATE] = host_update,
    [KERNEL_UNARY_DATA] = host_unary_data,
    [KERNEL_BINARY_DATA] = host_binary_data,
    [KERNEL_REDUCE_DATA] = host_reduce_data,
    [KERNEL_SHARE_EACH] = host_share_each,
    [KERNEL_SHARE] = host_share,
    [KERNEL_MOMENTS_DATA] = host_moments_data,
    [KERNEL_SOFTMAX_DATA] = host_softmax_data,
    [KERNEL_POOL_DATA] = host_pool_data,
    [KERNEL_LRN_DATA] = host_lrn_data,
    [KERNEL_RESIZE_DATA] = host_resize_data,
    [KERNEL_GRADIENT] = host_gradient,
    [KERNEL_GRADIENT_SUM] = host_gradient_sum,
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
