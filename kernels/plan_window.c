/* SPDX-License-Identifier: BSD-2-Clause */
/* POOL. */
#include "kernels/parts.h"

#include <string.h>

int plan_pool(struct kernel_plan *p)
{
    uint32_t mask = p->op.n_out > 1 ? p->op.out[1].dtype : FERRY_F32;
    struct kernel_launch *l;
    struct pool_args *a;
    struct window w;
    int64_t places;
    bool last;

    if (p->op.in[0].dtype != FERRY_F32 || p->op.out[0].dtype != FERRY_F32 ||
        (mask != FERRY_F32 && mask != FERRY_I32) || p->op.params.pool.method > FERRY_POOL_AVERAGE)
        return FERRY_EUNSUPPORTED;
    plan_window(&p->op.params.window, &p->op.in[0], &p->op.out[0], &w);
    last = p->op.n_out == 1 && w.x[1] == 1 && w.y[1] == 1;
    l = plan_launch(p, last ? KERNEL_POOL_LAST : KERNEL_POOL);
    a = &l->args.pool;
    a->window = w;
    a->is_average = p->op.params.pool.method == FERRY_POOL_AVERAGE;
    a->counts_padding = p->op.params.pool.divisor == FERRY_POOL_DIVISOR_PADDED;
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_OUT(0);
    if (p->op.n_out > 1) {
        a->has_mask = 1;
        a->mask_is_i32 = mask == FERRY_I32;
        a->mask[0] = p->op.out[1].stride[0];
        a->mask[1] = p->op.out[1].stride[1];
        plan_spatial(&p->op.out[1], 2, &a->mask[2]);
        l->from[2] = FROM_OUT(1);
    }
    places = w.images * w.out[0] * w.out[1] * w.out[2] * (last ? 1 : w.channels);
    a->piece = plan_piece(p, places, last ? 8 : 64);
    l->groups = plan_parts(places, a->piece);
    plan_prefer_channels_last(p);
    return 0;
}
