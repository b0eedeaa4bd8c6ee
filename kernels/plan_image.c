/* SPDX-License-Identifier: BSD-2-Clause */
/* RESIZE, ROI_POOL: images of two axes. */
#include "kernels/parts.h"

void plan_image(const ferry_operand *o, int64_t *along, int64_t *stride)
{
    for (int i = 0; i < 2; i++)
        along[i] = o->shape[2 + i];
    for (int i = 0; i < 4; i++)
        stride[i] = o->stride[i];
}

int plan_resize(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0], *y = &p->op.out[0];
    struct kernel_launch *l;
    struct resize_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.resize.method > FERRY_RESIZE_BILINEAR ||
        p->op.params.resize.sampling > FERRY_RESIZE_ASYMMETRIC)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_RESIZE);
    a = &l->args.resize;
    plan_image(x, a->in, a->x);
    plan_image(y, a->out, a->y);
    a->images = y->shape[0];
    a->channels = y->shape[1];
    a->is_nearest = p->op.params.resize.method == FERRY_RESIZE_NEAREST;
    a->sampling = (int32_t)p->op.params.resize.sampling;
    a->last = y->stride[1] == 1;
    a->piece = plan_piece(p, plan_count(y), 64);
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_OUT(0);
    l->groups = plan_parts(plan_count(y), a->piece);
    return 0;
}

int plan_roi_pool(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0], *rois = &p->op.in[1], *y = &p->op.out[0];
    struct kernel_launch *l;
    struct roi_args *a;

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_ROI_POOL);
    a = &l->args.roi;
    plan_image(x, a->in, a->x);
    plan_image(y, a->out, a->y);
    a->images = x->shape[0];
    a->regions = y->shape[0];
    a->channels = y->shape[1];
    a->rois[0] = rois->stride[0];
    a->rois[1] = rois->stride[1];
    a->group = p->op.params.roi.group;
    a->scale = (float)p->op.params.roi.spatial_scale;
    a->last = y->stride[1] == 1;
    a->piece = plan_piece(p, plan_count(y), 16);
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_IN(1);
    l->from[2] = FROM_OUT(0);
    l->groups = plan_parts(plan_count(y), a->piece);
    return 0;
}
