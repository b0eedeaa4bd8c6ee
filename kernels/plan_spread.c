/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backward passes: POOL, LRN, RESIZE; each input element gathers from the windows that contain it.
 */
#include "common/window.h"
#include "kernels/parts.h"

int plan_pool_data(struct kernel_plan *p)
{
    const ferry_operand *dy = &p->op.in[0], *mask = &p->op.in[1], *dx = &p->op.out[0];
    uint32_t dtype = p->own_in > 1 ? mask->dtype : FERRY_F32;
    struct kernel_launch *l;
    struct pool_args *a;

    if (dy->dtype != FERRY_F32 || dx->dtype != FERRY_F32 ||
        (dtype != FERRY_F32 && dtype != FERRY_I32) || p->op.params.pool.method > FERRY_POOL_AVERAGE)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_POOL_DATA);
    a = &l->args.pool;
    plan_window(&p->op.params.window, dx, dy, &a->window);
    a->is_average = p->op.params.pool.method == FERRY_POOL_AVERAGE;
    a->counts_padding = p->op.params.pool.divisor == FERRY_POOL_DIVISOR_PADDED;
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_IN(0); /* without a mask any buffer will do */
    l->from[2] = FROM_OUT(0);
    if (p->own_in > 1) {
        a->mask_is_i32 = dtype == FERRY_I32;
        a->mask[0] = mask->stride[0];
        a->mask[1] = mask->stride[1];
        ferry__widen_strides(mask, 2, &a->mask[2]);
        l->from[1] = FROM_IN(1);
    }
    a->last = dx->stride[1] == 1;
    a->piece = plan_piece(p, plan_count(dx), 64);
    l->groups = plan_parts(plan_count(dx), a->piece);
    return 0;
}

int plan_lrn_data(struct kernel_plan *p)
{
    const ferry_operand *dx = &p->op.out[0];
    uint32_t least = p->op.params.lrn.region == FERRY_LRN_WITHIN ? 4 : 3;
    struct kernel_launch *l;
    struct lrn_data_args *a;

    if (!plan_is_all(p, FERRY_F32) || dx->rank < least || dx->rank > 2 + FERRY_OP_SPATIAL ||
        p->op.params.lrn.region > FERRY_LRN_WITHIN)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_LRN_DATA);
    a = &l->args.lrn_data;
    a->images = dx->shape[0];
    a->channels = dx->shape[1];
    ferry__widen(&dx->shape[2], dx->rank - 2, 1, a->in);
    for (uint32_t i = 0; i < 5; i++) {
        const ferry_operand *o = i ? &p->op.in[i - 1] : dx;

        a->stride[i].axis[0] = o->stride[0];
        a->stride[i].axis[1] = o->stride[1];
        ferry__widen_strides(o, 2, &a->stride[i].axis[2]);
        l->from[i] = i ? FROM_IN(i - 1) : FROM_OUT(0);
    }
    a->size = p->op.params.lrn.size;
    a->is_across = p->op.params.lrn.region == FERRY_LRN_ACROSS;
    a->last = dx->stride[1] == 1;
    a->alpha = (float)p->op.params.lrn.alpha;
    a->beta = (float)p->op.params.lrn.beta;
    a->piece = plan_piece(p, plan_count(dx), 64);
    l->groups = plan_parts(plan_count(dx), a->piece);
    return 0;
}

int plan_resize_data(struct kernel_plan *p)
{
    const ferry_operand *dy = &p->op.in[0], *dx = &p->op.out[0];
    struct kernel_launch *l;
    struct resize_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.resize.method > FERRY_RESIZE_BILINEAR ||
        p->op.params.resize.sampling > FERRY_RESIZE_ASYMMETRIC)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_RESIZE_DATA);
    a = &l->args.resize;
    plan_image(dx, a->in, a->x);
    plan_image(dy, a->out, a->y);
    a->images = dx->shape[0];
    a->channels = dx->shape[1];
    a->is_nearest = p->op.params.resize.method == FERRY_RESIZE_NEAREST;
    a->sampling = (int32_t)p->op.params.resize.sampling;
    a->last = dx->stride[1] == 1;
    a->piece = plan_piece(p, plan_count(dx), 64);
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_OUT(0);
    l->groups = plan_parts(plan_count(dx), a->piece);
    return 0;
}
