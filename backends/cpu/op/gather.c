/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <ferry/op_types.h>
#include <string.h>

/* GATHER and SCATTER_ADD copy and add rows of a table by an index. */

struct rows {
    const struct cpu_op *op;
    const void *x, *index; /* the table, or the rows to add to it */
    void *y;
    struct cpu_walk row; /* a walk over one row of y and x */
    bool is_f32;
    bool is_known; /* the current index is a valid row */
};

/* Reads the index at an offset; −1 if it is not one of `rows` rows. */
static int64_t read_index(const ferry_operand *o, const void *index, int64_t at, int64_t rows)
{
    double real;
    int64_t i;

    switch (o->dtype) {
    case FERRY_I32:
        i = ((const int32_t *)index)[at];
        break;
    case FERRY_I64:
        i = ((const int64_t *)index)[at];
        break;
    default:
        real = (double)((const float *)index)[at];
        i = real >= 0 && real < (double)rows ? (int64_t)real : -1;
    }
    return i >= 0 && i < rows ? i : -1;
}

#define EACH(type, expression)                                                  \
    do {                                                                        \
        type *y = (type *)r->y + offset[0];                                     \
        const type *x = (const type *)r->x + offset[1];                         \
        int64_t y_step = walk_step(&r->row, 0), x_step = walk_step(&r->row, 1); \
                                                                                \
        for (int64_t i = 0; i < n; i++)                                         \
            y[i * y_step] = expression;                                         \
    } while (0)

static void copy_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct rows *r = arg;

    if (r->is_f32)
        EACH(float, r->is_known ? x[i * x_step] : 0);
    else
        EACH(double, r->is_known ? x[i * x_step] : 0);
}

static void add_row(void *arg, const int64_t *offset, int64_t n)
{
    const struct rows *r = arg;

    if (r->is_f32)
        EACH(float, y[i * y_step] + x[i * x_step]);
    else
        EACH(double, y[i * y_step] + x[i * x_step]);
}

static const char *advance(const void *p, int64_t elements, bool is_f32)
{
    return (const char *)p + elements * (is_f32 ? 4 : 8);
}

/* Copies the rows of contiguous indices; the walk has y's rows and the index. */
static void gather_rows(void *arg, const int64_t *offset, int64_t n)
{
    struct rows r = *(const struct rows *)arg;
    const struct cpu_walk *w = &r.op->plan.walk;
    const ferry_operand *table = &r.op->op.in[0];

    for (int64_t i = 0; i < n; i++) {
        int64_t y_at = offset[0] + i * walk_step(w, 0);
        int64_t row =
            read_index(&r.op->op.in[1], r.index, offset[1] + i * walk_step(w, 1), table->shape[0]);
        struct rows one = r;

        one.is_known = row >= 0;
        one.x = advance(r.x, one.is_known ? row * table->stride[0] : 0, r.is_f32);
        one.y = (void *)(uintptr_t)advance(r.y, y_at, r.is_f32);
        walk_some(&r.row, 0, r.row.count, copy_row, &one);
    }
}

/* Adds the rows of contiguous indices; the walk has x's rows and the index. */
static void scatter_rows(void *arg, const int64_t *offset, int64_t n)
{
    struct rows r = *(const struct rows *)arg;
    const struct cpu_walk *w = &r.op->plan.walk;
    const ferry_operand *table = &r.op->op.out[0];

    for (int64_t i = 0; i < n; i++) {
        int64_t row =
            read_index(&r.op->op.in[1], r.index, offset[1] + i * walk_step(w, 1), table->shape[0]);
        struct rows one = r;

        if (row < 0)
            continue;
        one.x = advance(r.x, offset[0] + i * walk_step(w, 0), r.is_f32);
        one.y = (void *)(uintptr_t)advance(r.y, row * table->stride[0], r.is_f32);
        walk_some(&r.row, 0, r.row.count, add_row, &one);
    }
}

/* ---- planning ------------------------------------------------------------------------------- */

/*
 * Plans a walk over the indices, in their order; the first axes of `rows` are those of the index.
 */
static int plan(struct cpu_op *p, const ferry_operand *table, const ferry_operand *rows)
{
    const ferry_operand *index = &p->op.in[1];
    uint32_t dtype = table->dtype;

    if ((dtype != FERRY_F32 && dtype != FERRY_F64) || rows->dtype != dtype ||
        (index->dtype != FERRY_F32 && index->dtype != FERRY_I32 && index->dtype != FERRY_I64) ||
        table->rank < 1 || rows->rank != index->rank + table->rank - 1)
        return FERRY_EUNSUPPORTED;
    walk_begin(&p->plan.walk, index->rank, index->shape);
    walk_add(&p->plan.walk, rows->stride);
    walk_add(&p->plan.walk, index->stride);
    walk_end_as_given(&p->plan.walk);
    return 0;
}

static void plan_row(struct cpu_walk *row, const ferry_operand *rows, uint32_t first,
                     const int64_t *y_stride, const int64_t *x_stride)
{
    walk_begin(row, rows->rank - first, rows->shape + first);
    walk_add(row, y_stride);
    walk_add(row, x_stride);
    walk_end(row);
}

static int gather_plan(struct cpu_op *p)
{
    return plan(p, &p->op.in[0], &p->op.out[0]);
}

static void gather_run(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args)
{
    const ferry_operand *table = &p->op.in[0], *y = &p->op.out[0];
    uint32_t first = p->op.in[1].rank;
    struct rows r = { .op = p,
                      .x = args->in[0],
                      .index = args->in[1],
                      .y = args->out[0],
                      .is_f32 = y->dtype == FERRY_F32 };

    plan_row(&r.row, y, first, y->stride + first, table->stride + 1);
    walk_all(&p->plan.walk, d->workers, 8 * r.row.count, gather_rows, &r);
}

const struct cpu_op_kind cpu_op_gather = {
    .kind = FERRY_OP_GATHER,
    .plan = gather_plan,
    .run = gather_run,
};

static int scatter_plan(struct cpu_op *p)
{
    return plan(p, &p->op.out[0], &p->op.in[0]);
}

/* Runs on one thread, because two indices may name one row and sums are accumulated in order. */
static void scatter_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    const ferry_operand *x = &p->op.in[0];
    uint32_t first = p->op.in[1].rank;
    struct rows r = { .op = p,
                      .x = args->in[0],
                      .index = args->in[1],
                      .y = args->out[0],
                      .is_f32 = x->dtype == FERRY_F32 };

    (void)d;
    plan_row(&r.row, x, first, p->op.out[0].stride + 1, x->stride + first);
    walk_some(&p->plan.walk, 0, p->plan.walk.count, scatter_rows, &r);
}

const struct cpu_op_kind cpu_op_scatter_add = {
    .kind = FERRY_OP_SCATTER_ADD,
    .plan = scatter_plan,
    .run = scatter_run,
};
