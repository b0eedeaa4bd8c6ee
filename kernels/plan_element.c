/* SPDX-License-Identifier: BSD-2-Clause */
/* STRIDED_COPY, UNARY, BINARY: a walk over y. */
#include "kernels/parts.h"

#include <string.h>

#define LEAST 1024 /* elements to a group's item */

/* ---- walks ---------------------------------------------------------------------------------- */

static void add(struct walk *w, const ferry_operand *o)
{
    for (uint32_t i = 0; i < o->rank; i++)
        w->stride[w->operands][i] = o->shape[i] == 1 ? 0 : o->stride[i];
    w->operands++;
}

static void copy_axis(struct walk *w, int64_t to, int64_t from)
{
    w->shape[to] = w->shape[from];
    for (int64_t k = 0; k < w->operands; k++)
        w->stride[k][to] = w->stride[k][from];
}

static void swap_axes(struct walk *w, int64_t a, int64_t b)
{
    struct walk kept = *w;

    copy_axis(w, a, b);
    w->shape[b] = kept.shape[a];
    for (int64_t k = 0; k < w->operands; k++)
        w->stride[k][b] = kept.stride[k][a];
}

static bool is_one_axis(const struct walk *w, int64_t outer, int64_t inner)
{
    for (int64_t k = 0; k < w->operands; k++)
        if (w->stride[k][outer] != w->stride[k][inner] * w->shape[inner])
            return false;
    return true;
}

/* Axes in the order of y's strides; those of 1 go, and those that follow on each other are one. */
static void simplify(struct walk *w)
{
    int64_t rank = 0;

    for (int64_t i = 1; i < w->rank; i++)
        for (int64_t j = i; j > 0 && w->stride[0][j - 1] < w->stride[0][j]; j--)
            swap_axes(w, j - 1, j);
    for (int64_t i = 0; i < w->rank; i++) {
        if (w->shape[i] == 1)
            continue;
        if (rank > 0 && is_one_axis(w, rank - 1, i)) {
            int64_t length = w->shape[rank - 1] * w->shape[i];

            copy_axis(w, rank - 1, i);
            w->shape[rank - 1] = length;
        } else {
            copy_axis(w, rank++, i);
        }
    }
    if (rank == 0) {
        w->shape[0] = 1;
        for (int64_t k = 0; k < w->operands; k++)
            w->stride[k][0] = 0;
        rank = 1;
    }
    w->rank = rank;
}

/* A launch over y and the first inputs, which may be repeated along axes where they are 1. */
static struct element_args *launch(struct kernel_plan *p, uint32_t kernel, uint32_t inputs)
{
    struct kernel_launch *l = plan_launch(p, kernel);
    struct element_args *a = &l->args.element;
    const ferry_operand *y = &p->op.out[0];

    a->walk.rank = y->rank;
    a->walk.count = plan_count(y);
    memcpy(a->walk.shape, y->shape, sizeof(a->walk.shape));
    add(&a->walk, y);
    l->from[0] = FROM_OUT(0);
    for (uint32_t i = 0; i < inputs; i++) {
        add(&a->walk, &p->op.in[i]);
        l->from[1 + i] = FROM_IN(i);
    }
    a->inputs = (int32_t)inputs;
    simplify(&a->walk);
    a->walk.piece = plan_piece(p, a->walk.count, LEAST);
    l->groups = plan_parts(a->walk.count, a->walk.piece);
    return a;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

int plan_copy(struct kernel_plan *p)
{
    static const int32_t sizes[FERRY_DTYPE_COUNT] = { 4, 8, 2, 2, 1, 1, 4, 8, 4 };
    uint32_t dtype = p->op.in[0].dtype;

    if (dtype >= FERRY_DTYPE_COUNT || dtype != p->op.out[0].dtype)
        return FERRY_EUNSUPPORTED;
    launch(p, KERNEL_COPY, 1)->size = sizes[dtype];
    return 0;
}

int plan_unary(struct kernel_plan *p)
{
    struct element_args *a;

    if (!plan_is_all(p, FERRY_F32) || p->op.params.unary.function > FERRY_UNARY_SWISH)
        return FERRY_EUNSUPPORTED;
    a = launch(p, KERNEL_UNARY, 1);
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
    a = launch(p, KERNEL_BINARY, inputs);
    a->function = (int32_t)function;
    a->a = (float)p->op.params.binary.a;
    a->b = (float)p->op.params.binary.b;
    return 0;
}
