/* SPDX-License-Identifier: BSD-2-Clause */
/* Backward passes of element-wise functions, and passes that sum rows of their results. */
#include "kernels/parts.h"

/* ---- element by element --------------------------------------------------------------------- */

int plan_unary_data(struct kernel_plan *p)
{
    struct element_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.unary.function >= FERRY_UNARY_COUNT)
        return FERRY_EUNSUPPORTED;
    a = plan_elements(p, KERNEL_UNARY_DATA, 2);
    a->function = (int32_t)p->op.params.unary.function;
    a->a = (float)p->op.params.unary.a;
    a->b = (float)p->op.params.unary.b;
    a->c = (float)p->op.params.unary.c;
    return 0;
}

int plan_binary_data(struct kernel_plan *p)
{
    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    plan_elements(p, KERNEL_BINARY_DATA, 3)->function = (int32_t)p->op.params.binary.function;
    return 0;
}

int plan_reduce_data(struct kernel_plan *p)
{
    struct element_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.reduce.function > FERRY_REDUCE_ASUM)
        return FERRY_EUNSUPPORTED;
    a = plan_elements(p, KERNEL_REDUCE_DATA, p->own_in);
    a->function = (int32_t)p->op.params.reduce.function;
    a->a = (float)p->op.params.reduce.scale;
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/*
 * Rows over the kept axes of `all`, with every operand, the output first; parts over its `axes`,
 * with the operands from `first` to `end` − 1.
 */
static struct row_args *rows(struct kernel_plan *p, uint32_t kernel, const ferry_operand *all,
                             uint32_t axes, uint32_t first, uint32_t end)
{
    struct kernel_launch *l = plan_launch(p, kernel);
    struct row_args *a = &l->args.row;
    ferry_operand kept = plan_cut(all, axes, false), part = plan_cut(all, axes, true);

    plan_walk_begin(&a->rows, &kept);
    plan_walk_begin(&a->part, &part);
    for (uint32_t i = 0; i < 1 + p->own_in; i++) {
        const ferry_operand *o = i ? &p->op.in[i - 1] : &p->op.out[0];
        ferry_operand of_row = plan_cut(o, axes, false), of_part = plan_cut(o, axes, true);

        plan_walk_add(&a->rows, &of_row);
        if (i >= first && i < end)
            plan_walk_add(&a->part, &of_part);
        l->from[i] = i ? FROM_IN(i - 1) : FROM_OUT(0);
    }
    plan_walk_end(&a->rows, false);
    plan_walk_end(&a->part, false);
    a->inputs = (int32_t)p->own_in;
    a->count = (float)a->part.count;
    a->rows.piece = plan_parts(a->rows.count, p->target.busy);
    l->groups = plan_parts(a->rows.count, a->rows.piece);
    return a;
}

int plan_moments_data(struct kernel_plan *p)
{
    uint32_t end = p->own_in > 1 ? 3 : 2;

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    (void)rows(p, KERNEL_MOMENTS_DATA, &p->op.in[0], p->op.params.reduce.axes, 0, end);
    return 0;
}

int plan_softmax_data(struct kernel_plan *p)
{
    uint32_t axes = 1u << p->op.params.softmax.axis;

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    rows(p, KERNEL_SOFTMAX_DATA, &p->op.in[0], axes, 0, 3)->logarithm =
        p->op.params.softmax.logarithm != 0;
    return 0;
}

/*
 * Plans the gradient of a broadcast operand, a sum over its repetitions; without broadcasting there
 * are no rows to sum.
 */
static int share(struct kernel_plan *p, int32_t function, double scale)
{
    const ferry_operand *dy = &p->op.in[0], *to = &p->op.out[0];
    uint32_t axes = 0;

    for (uint32_t i = 0; i < dy->rank; i++)
        axes |= to->shape[i] != dy->shape[i] ? 1u << i : 0;
    if (!axes) {
        struct element_args *a = plan_elements(p, KERNEL_SHARE_EACH, p->own_in);

        a->function = function;
        a->a = (float)scale;
    } else {
        uint32_t end = p->own_in > 1 ? 3 : 2;
        struct row_args *a = rows(p, KERNEL_SHARE, dy, axes, 1, end);

        a->function = function;
        a->scale = (float)scale;
    }
    return 0;
}

int plan_binary_weights(struct kernel_plan *p)
{
    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    switch (p->op.params.binary.function) {
    case FERRY_BINARY_SUM:
        return share(p, SHARE_SCALED, p->op.params.binary.b);
    case FERRY_BINARY_MAX:
        return share(p, SHARE_MAX, 1);
    case FERRY_BINARY_PRELU:
        return share(p, SHARE_PRELU, 1);
    default:
        return share(p, p->own_in > 1 ? SHARE_PRODUCT : SHARE_SCALED, 1);
    }
}

/* Plans the gradient of a bias, which is broadcast along all axes except the channel. */
int plan_convolution_bias(struct kernel_plan *p)
{
    const ferry_operand *dy = &p->op.in[0];
    ferry_operand *db = &p->op.out[0];
    int64_t stride = db->stride[0];

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    db->rank = dy->rank;
    for (uint32_t i = 0; i < dy->rank; i++) {
        db->shape[i] = i == 1 ? dy->shape[1] : 1;
        db->stride[i] = i == 1 ? stride : 0;
    }
    return share(p, SHARE_SCALED, 1);
}

int plan_inner_product_bias(struct kernel_plan *p)
{
    return plan_convolution_bias(p);
}

int plan_binary_bias(struct kernel_plan *p)
{
    return plan_binary_weights(p);
}
