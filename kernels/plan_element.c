/* SPDX-License-Identifier: BSD-2-Clause */
/* STRIDED_COPY, UNARY, BINARY, RANDOM, UPDATE: a walk over y. */
#include "kernels/parts.h"

#define LEAST 1024 /* elements per item of a group */

struct element_args *plan_elements(struct kernel_plan *p, uint32_t kernel, uint32_t inputs)
{
    struct kernel_launch *l = plan_launch(p, kernel);
    struct element_args *a = &l->args.element;
    const ferry_operand *y = &p->op.out[0];

    plan_walk_begin(&a->walk, y);
    plan_walk_add(&a->walk, y);
    l->from[0] = FROM_OUT(0);
    for (uint32_t i = 0; i < inputs; i++) {
        plan_walk_add(&a->walk, &p->op.in[i]);
        l->from[1 + i] = FROM_IN(i);
    }
    a->inputs = (int32_t)inputs;
    plan_walk_end(&a->walk, false);
    a->walk.piece = plan_piece(p, a->walk.count, LEAST);
    l->groups = plan_parts(a->walk.count, a->walk.piece);
    return a;
}

/* Whether the dtype is F32, or one whose values F32 represents. */
static bool is_half_or_f32(uint32_t dtype)
{
    return dtype == FERRY_F32 || dtype == FERRY_F16 || dtype == FERRY_BF16;
}

int plan_strided_copy(struct kernel_plan *p)
{
    static const int32_t sizes[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };
    uint32_t from = p->op.in[0].dtype, to = p->op.out[0].dtype;

    if (from >= FERRY_DTYPE_COUNT || to >= FERRY_DTYPE_COUNT)
        return FERRY_EUNSUPPORTED;
    if (from == to)
        plan_elements(p, KERNEL_COPY, 1)->size = sizes[from];
    else if (is_half_or_f32(from) && is_half_or_f32(to))
        plan_elements(p, KERNEL_CONVERT_COPY, 1)->function = (int32_t)DTYPE_PAIR(from, to);
    else if (p->target.has_f64)
        plan_elements(p, KERNEL_CONVERT_ANY, 1)->function = (int32_t)DTYPE_PAIR(from, to);
    else
        return FERRY_EUNSUPPORTED;
    return 0;
}

int plan_unary(struct kernel_plan *p)
{
    struct element_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.unary.function >= FERRY_UNARY_COUNT)
        return FERRY_EUNSUPPORTED;
    a = plan_elements(p, KERNEL_UNARY, 1);
    a->function = (int32_t)p->op.params.unary.function;
    a->a = (float)p->op.params.unary.a;
    a->b = (float)p->op.params.unary.b;
    a->c = (float)p->op.params.unary.c;
    return 0;
}

int plan_binary(struct kernel_plan *p)
{
    uint32_t function = p->op.params.binary.function, inputs = p->own_in < 3 ? p->own_in : 3;
    struct element_args *a;

    if (!plan_is_all(p, FERRY_F32) || function > FERRY_BINARY_QUOTIENT ||
        (function == FERRY_BINARY_NORMALISE && inputs < 3))
        return FERRY_EUNSUPPORTED;
    a = plan_elements(p, KERNEL_BINARY, inputs);
    a->function = (int32_t)function;
    a->a = (float)p->op.params.binary.a;
    a->b = (float)p->op.params.binary.b;
    return 0;
}

/* Plans RANDOM, whose elements are numbered in their logical order. */
int plan_random(struct kernel_plan *p)
{
    struct kernel_launch *l;
    struct random_args *a;

    if (p->op.out[0].dtype != FERRY_F32 ||
        p->op.params.random.distribution > FERRY_RANDOM_BERNOULLI)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_RANDOM);
    a = &l->args.random;
    plan_walk_begin(&a->walk, &p->op.out[0]);
    plan_walk_add(&a->walk, &p->op.out[0]);
    plan_walk_end(&a->walk, true);
    a->walk.piece = plan_piece(p, a->walk.count, LEAST / 4);
    a->distribution = (int32_t)p->op.params.random.distribution;
    a->a = (float)p->op.params.random.a;
    a->b = (float)p->op.params.random.b;
    l->from[0] = FROM_OUT(0);
    l->groups = plan_parts(a->walk.count, a->walk.piece);
    return 0;
}

/* Plans UPDATE; the histories use the buffers of UNARY's further inputs. */
int plan_update(struct kernel_plan *p)
{
    uint32_t histories = p->op.n_out - 1;
    struct kernel_launch *l;
    struct update_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.update.solver > FERRY_UPDATE_ADAM)
        return FERRY_EUNSUPPORTED;
    l = plan_launch(p, KERNEL_UPDATE);
    a = &l->args.update;
    plan_walk_begin(&a->walk, &p->op.out[0]);
    plan_walk_add(&a->walk, &p->op.out[0]);
    plan_walk_add(&a->walk, &p->op.in[0]);
    l->from[0] = FROM_OUT(0);
    l->from[1] = FROM_IN(0);
    for (uint32_t i = 0; i < histories; i++) {
        plan_walk_add(&a->walk, &p->op.out[1 + i]);
        l->from[2 + i] = FROM_OUT(1 + i);
    }
    plan_walk_end(&a->walk, false);
    a->walk.piece = plan_piece(p, a->walk.count, LEAST);
    l->groups = plan_parts(a->walk.count, a->walk.piece);
    a->solver = (int32_t)p->op.params.update.solver;
    a->histories = (int32_t)histories;
    return 0;
}
