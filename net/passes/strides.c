/* SPDX-License-Identifier: BSD-2-Clause */
/* Assigns strides to values, and gives the operands of operations the strides of their values. */
#include "net/passes/passes.h"

#include <ferry/op.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * The number of elements of an axis for the computation of strides: at least 1, so that a stride is
 * never 0.
 */
static int64_t room_of(int64_t elements)
{
    return elements > 1 ? elements : 1;
}

void ferry__value_set_strides(struct ferry__value *v)
{
    int64_t step = 1;
    int i;

    if (v->last) {
        v->stride[1] = 1;
        step = room_of(v->shape[1]);
    }
    for (i = v->rank; i-- > 0;) {
        if (v->last && i == 1)
            continue;
        v->stride[i] = step;
        step *= room_of(v->shape[i]);
    }
}

/* ---- operands -------------------------------------------------------------------------------- */

/* The row-major strides of a value's axes. */
static void plain_strides(const struct ferry__value *v, int64_t *out)
{
    int64_t step = 1;
    int i;

    for (i = v->rank; i-- > 0;) {
        out[i] = step;
        step *= room_of(v->shape[i]);
    }
}

/* The index along axis `a` of the element whose row-major index is `start`. */
static int64_t index_along(const struct ferry__value *v, const int64_t *plain, int64_t start, int a)
{
    return v->shape[a] > 1 ? start / plain[a] % v->shape[a] : 0;
}

/*
 * The stride, in the value's memory, of an operand's axis. In row-major order the axis has `n`
 * elements from `start` on that are `step` apart. It may be an axis of the value, a part of one, or
 * several axes of the value that are contiguous in memory. 0: no stride describes it.
 */
static int64_t axis_stride(const struct ferry__value *v, const int64_t *plain, int64_t start,
                           int64_t n, int64_t step)
{
    int64_t stride, end;
    int a;

    for (a = 0; a < v->rank && (v->shape[a] == 1 || plain[a] > step); a++)
        ;
    if (a == v->rank || step % plain[a])
        return 0;
    stride = v->stride[a] * (step / plain[a]);
    end = index_along(v, plain, start, a) + (n - 1) * (step / plain[a]);
    while (end >= v->shape[a]) {
        int64_t next = v->stride[a] * v->shape[a], carried = end / v->shape[a];

        do
            a--;
        while (a >= 0 && v->shape[a] == 1);
        if (a < 0 || v->stride[a] != next)
            return 0;
        end = index_along(v, plain, start, a) + carried;
    }
    return stride;
}

static int64_t start_of(const struct ferry__value *v, const int64_t *plain, int64_t start)
{
    int64_t at = 0;
    int a;

    for (a = 0; a < v->rank; a++)
        at += index_along(v, plain, start, a) * v->stride[a];
    return at;
}

/* An operand with the axes and strides of the value. */
static ferry_operand as_value(const struct ferry__value *v)
{
    ferry_operand o = ferry_operand_make((ferry_dtype)v->dtype, v->shape, v->rank, NULL);

    memcpy(o.stride, v->stride, sizeof v->stride);
    return o;
}

static bool lay_operand(const struct ferry__value *v, const struct ferry__use *use,
                        ferry_operand *o, int64_t *out_start)
{
    int64_t plain[FERRY_OP_AXES];
    uint32_t i;

    *out_start = use->start;
    plain_strides(v, plain);
    /* without elements the layout does not matter; a row-major value can be used with any axes */
    if (!v->count || !memcmp(v->stride, plain, (size_t)v->rank * sizeof *plain))
        return true;
    for (i = 0; i < o->rank; i++) {
        if (o->shape[i] <= 1 || o->stride[i] == 0)
            continue;
        o->stride[i] = axis_stride(v, plain, use->start, o->shape[i], o->stride[i]);
        if (!o->stride[i])
            return false;
    }
    *out_start = start_of(v, plain, use->start);
    return true;
}

static bool same_dims(const struct ferry__value *a, const struct ferry__value *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, sizeof a->shape);
}

/* Whether the operation computes the same with its values' own axes for all of its operands. */
static bool takes_any_axes(const struct ferry__program *p, const struct ferry__item *item)
{
    return item->op.kind == FERRY_OP_UNARY && item->in[0].value >= 0 && item->out[0].value >= 0 &&
           ferry__is_whole(p, &item->op.in[0], &item->in[0]) &&
           ferry__is_whole(p, &item->op.out[0], &item->out[0]) &&
           same_dims(&p->values[item->in[0].value], &p->values[item->out[0].value]);
}

/*
 * Whether x of an inner product may have the axes of its value: the axis of items, followed by any
 * axes.
 */
static bool takes_inner_axes(const struct ferry__program *p, const struct ferry__item *item)
{
    const struct ferry__value *v;

    if (item->op.kind != FERRY_OP_INNER_PRODUCT || item->in[0].value < 0)
        return false;
    v = &p->values[item->in[0].value];
    return v->rank > 1 && v->shape[0] == item->op.in[0].shape[0] &&
           ferry__is_whole(p, &item->op.in[0], &item->in[0]);
}

int ferry__item_set_strides(const struct ferry__program *p, const struct ferry__item *item,
                            ferry_op_desc *op, int64_t *in_start, int64_t *out_start)
{
    bool any = takes_any_axes(p, item), inner = takes_inner_axes(p, item);
    uint32_t i;

    *op = item->op;
    for (i = 0; i < op->n_in; i++) {
        const struct ferry__use *use = &item->in[i];

        in_start[i] = use->start;
        if (use->value < 0)
            continue;
        if (i == 0 && (any || inner))
            op->in[0] = as_value(&p->values[use->value]);
        else if (!lay_operand(&p->values[use->value], use, &op->in[i], &in_start[i]))
            return 0;
    }
    for (i = 0; i < op->n_out; i++) {
        const struct ferry__use *use = &item->out[i];

        out_start[i] = use->start;
        if (use->value < 0)
            continue;
        if (i == 0 && any)
            op->out[0] = as_value(&p->values[use->value]);
        else if (!lay_operand(&p->values[use->value], use, &op->out[i], &out_start[i]))
            return 0;
    }
    return 1;
}

/*
 * Gives the operands of operations the strides of their values, and converts offsets that were
 * relative to the values' first elements.
 */
int ferry__pass_strides(struct ferry__program *p)
{
    int64_t in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    uint32_t k;
    int i;

    for (i = 0; i < p->n_items; i++) {
        struct ferry__item *item = &p->items[i];
        ferry_op_desc op;

        if (item->call || item->dropped || !ferry__item_set_strides(p, item, &op, in, out))
            continue;
        item->op = op;
        for (k = 0; k < op.n_in; k++)
            item->in[k].start = in[k];
        for (k = 0; k < op.n_out; k++)
            item->out[k].start = out[k];
    }
    return 0;
}
