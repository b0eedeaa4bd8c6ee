/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REDUCE, MOMENTS and SOFTMAX. A row is one position of the kept axes; its part is reduced to one.
 */
#include "kernels/parts.h"

ferry_operand plan_cut(const ferry_operand *o, uint32_t axes, bool others)
{
    ferry_operand c = *o;

    for (uint32_t i = 0; i < c.rank; i++)
        if ((axes >> i & 1u) != others) {
            c.shape[i] = 1;
            c.stride[i] = 0;
        }
    return c;
}

/* Adds a launch. `rows` walks over y, x and further operands of y's shape; `part` over x. */
static struct row_args *launch(struct kernel_plan *p, uint32_t kernel, uint32_t axes)
{
    struct kernel_launch *l = plan_launch(p, kernel);
    struct row_args *a = &l->args.row;
    ferry_operand kept = plan_cut(&p->op.in[0], axes, false);
    ferry_operand part = plan_cut(&p->op.in[0], axes, true);

    plan_walk_begin(&a->rows, &kept);
    plan_walk_begin(&a->part, &part);
    for (uint32_t i = 0; i < p->op.n_out; i++) {
        ferry_operand y = plan_cut(&p->op.out[i], axes, false);

        if (i == 1)
            plan_walk_add(&a->rows, &kept);
        plan_walk_add(&a->rows, &y);
        l->from[1 + i] = FROM_OUT(i);
    }
    if (p->op.n_out == 1)
        plan_walk_add(&a->rows, &kept);
    plan_walk_add(&a->part, &part);
    l->from[0] = FROM_IN(0);
    plan_walk_end(&a->rows, false);
    a->count = a->part.count > 0 ? (float)a->part.count : 1; /* without elements the mean is 0 */
    a->rows.piece = plan_parts(a->rows.count, p->target.busy);
    l->groups = plan_parts(a->rows.count, a->rows.piece);
    return a;
}

int plan_reduce(struct kernel_plan *p)
{
    uint32_t function = p->op.params.reduce.function, y = p->op.out[0].dtype;
    bool is_index = function == FERRY_REDUCE_ARGMAX && y == FERRY_I32;
    struct row_args *a;

    if (p->op.in[0].dtype != FERRY_F32 || (y != FERRY_F32 && !is_index) ||
        function > FERRY_REDUCE_ARGMAX)
        return FERRY_EUNSUPPORTED;
    a = launch(p, KERNEL_REDUCE, p->op.params.reduce.axes);
    plan_walk_end(&a->part, function == FERRY_REDUCE_ARGMAX);
    a->function = (int32_t)function;
    a->is_index = is_index;
    a->scale = (float)p->op.params.reduce.scale;
    return 0;
}

int plan_moments(struct kernel_plan *p)
{
    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    plan_walk_end(&launch(p, KERNEL_MOMENTS, p->op.params.reduce.axes)->part, false);
    return 0;
}

int plan_softmax(struct kernel_plan *p)
{
    uint32_t axes = 1u << p->op.params.softmax.axis;
    ferry_operand y = plan_cut(&p->op.out[0], axes, true);
    struct row_args *a;

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    a = launch(p, KERNEL_SOFTMAX, axes);
    plan_walk_add(&a->part, &y);
    plan_walk_end(&a->part, true);
    a->logarithm = p->op.params.softmax.logarithm != 0;
    return 0;
}
