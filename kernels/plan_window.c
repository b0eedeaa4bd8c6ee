/* SPDX-License-Identifier: BSD-2-Clause */
/* POOL, LRN, IM2COL, COL2IM: a window, or the spatial axes of one. */
#include "common/window.h"
#include "kernels/parts.h"

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
        ferry__widen_strides(&p->op.out[1], 2, &a->mask[2]);
        l->from[2] = FROM_OUT(1);
    }
    places = w.images * w.out[0] * w.out[1] * w.out[2] * (last ? 1 : w.channels);
    a->piece = plan_piece(p, places, last ? 8 : 64);
    l->groups = plan_parts(places, a->piece);
    plan_prefer_channels_last(p);
    return 0;
}

int plan_lrn(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0];
    ferry_op_window window = { .axes = x->rank - 2 };
    uint32_t least = p->op.params.lrn.region == FERRY_LRN_WITHIN ? 4 : 3;
    struct kernel_launch *l;
    struct lrn_args *a;

    if (!plan_is_all(p, FERRY_F32) || x->rank < least || x->rank > 2 + FERRY_OP_SPATIAL ||
        p->op.params.lrn.region > FERRY_LRN_WITHIN)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_LRN);
    a = &l->args.lrn;
    plan_window(&window, x, &p->op.out[0], &a->window);
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_OUT(0);
    if (p->op.n_out > 1) {
        a->has_scale = 1;
        a->scale[0] = p->op.out[1].stride[0];
        a->scale[1] = p->op.out[1].stride[1];
        ferry__widen_strides(&p->op.out[1], 2, &a->scale[2]);
        l->from[2] = FROM_OUT(1);
    }
    a->size = p->op.params.lrn.size;
    a->is_across = p->op.params.lrn.region == FERRY_LRN_ACROSS;
    a->last = a->window.y[1] == 1;
    a->alpha = (float)p->op.params.lrn.alpha;
    a->beta = (float)p->op.params.lrn.beta;
    a->k = (float)p->op.params.lrn.k;
    a->piece = plan_piece(p, plan_count(x), 64);
    l->groups = plan_parts(plan_count(x), a->piece);
    return 0;
}

/*
 * Plans a copy from an image to its columns or back; `image` and `columns` are operands of the
 * operation.
 */
static int columns(struct kernel_plan *p, uint32_t kernel, const ferry_operand *image,
                   const ferry_operand *columns)
{
    struct kernel_launch *l;
    struct columns_args *a;
    int64_t count = plan_count(&p->op.out[0]);

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, kernel);
    a = &l->args.columns;
    plan_window(&p->op.params.window, image, columns, &a->window);
    a->piece = plan_piece(p, count, 64);
    l->from[0] = FROM_IN(0);
    l->from[1] = FROM_OUT(0);
    l->groups = plan_parts(count, a->piece);
    return 0;
}

int plan_im2col(struct kernel_plan *p)
{
    return columns(p, KERNEL_IM2COL, &p->op.in[0], &p->op.out[0]);
}

int plan_col2im(struct kernel_plan *p)
{
    return columns(p, KERNEL_COL2IM, &p->op.out[0], &p->op.in[0]);
}
