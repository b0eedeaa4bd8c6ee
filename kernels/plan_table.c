/* SPDX-License-Identifier: BSD-2-Clause */
/* GATHER, SCATTER_ADD: a table, an index, and the indexed rows. */
#include "kernels/parts.h"

/* The axes of an operand from `first` to `end` − 1. */
static ferry_operand axes(const ferry_operand *o, uint32_t first, uint32_t end)
{
    ferry_operand part = { .dtype = o->dtype, .rank = end - first };

    for (uint32_t i = first; i < end; i++) {
        part.shape[i - first] = o->shape[i];
        part.stride[i - first] = o->stride[i];
    }
    return part;
}

static struct kernel_launch *launch(struct kernel_plan *p, uint32_t kernel,
                                    const ferry_operand *table, const ferry_operand *rows)
{
    const ferry_operand *index = &p->op.in[1];
    ferry_operand of_table = axes(table, 1, table->rank);
    ferry_operand of_rows = axes(rows, index->rank, rows->rank), first = axes(rows, 0, index->rank);
    struct kernel_launch *l = plan_launch(p, kernel);
    struct table_args *a = &l->args.table;

    plan_walk_begin(&a->places, index);
    plan_walk_add(&a->places, index);
    plan_walk_add(&a->places, &first);
    plan_walk_end(&a->places, true);
    plan_walk_begin(&a->row, &of_table);
    plan_walk_add(&a->row, &of_table);
    plan_walk_add(&a->row, &of_rows);
    plan_walk_end(&a->row, true);
    a->table_rows = table->shape[0];
    a->table_stride = table->stride[0];
    a->index_is_float = index->dtype == FERRY_F32;
    a->index_size = index->dtype == FERRY_I64 ? 8 : 4;
    l->from[1] = FROM_IN(1);
    return l;
}

static bool can(const struct kernel_plan *p)
{
    uint32_t index = p->op.in[1].dtype;

    return p->op.in[0].dtype == FERRY_F32 && p->op.out[0].dtype == FERRY_F32 &&
           (index == FERRY_F32 || index == FERRY_I32 || index == FERRY_I64);
}

int plan_gather(struct kernel_plan *p)
{
    struct kernel_launch *l;
    struct walk *w;

    if (!can(p))
        return FERRY_EUNSUPPORTED;
    l = launch(p, KERNEL_GATHER, &p->op.in[0], &p->op.out[0]);
    l->from[0] = FROM_IN(0);
    l->from[2] = FROM_OUT(0);
    w = &l->args.table.places;
    w->piece = plan_parts(w->count, p->target.busy);
    l->groups = plan_parts(w->count, w->piece);
    return 0;
}

int plan_scatter_add(struct kernel_plan *p)
{
    struct kernel_launch *l;
    struct walk *w;

    if (!can(p))
        return FERRY_EUNSUPPORTED;
    l = launch(p, KERNEL_SCATTER_ADD, &p->op.out[0], &p->op.in[0]);
    l->from[0] = FROM_OUT(0);
    l->from[2] = FROM_IN(0);
    w = &l->args.table.row;
    w->piece = plan_piece(p, w->count, 16);
    l->groups = plan_parts(w->count, w->piece);
    return 0;
}
