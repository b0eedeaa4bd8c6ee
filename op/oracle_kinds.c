/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's kinds that are sums and functions of elements. */
#include "op/kind.h"
#include "op/oracle_parts.h"
#include "op/unary.h"

#include <ferry/blob.h>

#include <math.h>
#include <string.h>

void oracle_inner_product(const struct scene *s)
{
    const struct view *x = &s->in[0], *w = &s->in[1], *y = &s->out[0];
    bool bias = ferry__op_own_inputs(s->op) > 2;
    struct walk at, along;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o)) {
        ferry_operand row = x->o;
        int64_t wi[2] = { at.i[1], 0 };
        double sum = bias ? view_get(&s->in[2], &at.i[1]) : 0;

        row.shape[0] = 1;
        for (along = walk_over(&row); along.left; walk_on(&along, &row), wi[1]++) {
            int64_t xi[FERRY_OP_AXES];
            uint32_t i;

            xi[0] = at.i[0];
            for (i = 1; i < row.rank; i++)
                xi[i] = along.i[i];
            sum += view_get(x, xi) * view_get(w, wi);
        }
        view_set(y, at.i, sum);
    }
}

void oracle_batched_gemm(const struct scene *s)
{
    const struct view *y = &s->out[0];
    bool add = ferry__op_own_inputs(s->op) > 2 && s->op->params.gemm.beta != 0;
    int64_t depth = s->in[0].o.shape[2], k;
    struct walk at;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o)) {
        double sum = 0;

        for (k = 0; k < depth; k++)
            sum += view_get(&s->in[0], (int64_t[]){ at.i[0], at.i[1], k }) *
                   view_get(&s->in[1], (int64_t[]){ at.i[0], k, at.i[2] });
        sum *= s->op->params.gemm.alpha;
        if (add)
            sum += s->op->params.gemm.beta * view_get(&s->in[2], at.i);
        view_set(y, at.i, sum);
    }
}

void oracle_unary(const struct scene *s)
{
    uint32_t function = s->op->params.unary.function;
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o))
        view_set(&s->out[0], at.i,
                 ferry__unary_value(function, view_get(&s->in[0], at.i), s->op->params.unary.a,
                                    s->op->params.unary.b, s->op->params.unary.c));
}

static double binary_of(const ferry_op_desc *op, double x, double u, double v)
{
    switch (op->params.binary.function) {
    case FERRY_BINARY_SUM:
        return op->params.binary.a * x + op->params.binary.b * u;
    case FERRY_BINARY_PRODUCT:
        return x * u;
    case FERRY_BINARY_MAX:
        return x > u ? x : u;
    case FERRY_BINARY_SCALE:
        return x * u + v;
    case FERRY_BINARY_PRELU:
        return x > 0 ? x : u * x;
    case FERRY_BINARY_NORMALISE:
        return (x - u) * v;
    case FERRY_BINARY_QUOTIENT:
        return x / u;
    default:
        return NAN;
    }
}

void oracle_binary(const struct scene *s)
{
    bool three = ferry__op_own_inputs(s->op) > 2;
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o))
        view_set(&s->out[0], at.i,
                 binary_of(s->op, view_get(&s->in[0], at.i), view_get(&s->in[1], at.i),
                           three ? view_get(&s->in[2], at.i) : 0));
}

/* The part of x that is reduced to the element at `y`: its shape, to be walked beside y's index. */
static ferry_operand reduced_part(const struct scene *s)
{
    ferry_operand part = s->in[0].o;
    uint32_t axis;

    for (axis = 0; axis < part.rank; axis++)
        if (!(s->op->params.reduce.axes >> axis & 1))
            part.shape[axis] = 1;
    return part;
}

/* Element `part` of what is reduced to the element at `y`. */
static double part_get(const struct scene *s, const int64_t *y, const int64_t *part)
{
    int64_t at[FERRY_OP_AXES];
    uint32_t axis;

    for (axis = 0; axis < s->in[0].o.rank; axis++)
        at[axis] = y[axis] + part[axis];
    return view_get(&s->in[0], at);
}

static double reduced(const struct scene *s, const int64_t *y)
{
    uint32_t function = s->op->params.reduce.function;
    ferry_operand part = reduced_part(s);
    double value = function < FERRY_REDUCE_MAX ? 0 : -INFINITY, index = 0, n = 0;
    struct walk w;

    for (w = walk_over(&part); w.left; walk_on(&w, &part), n++) {
        double x = part_get(s, y, w.i);

        if (function == FERRY_REDUCE_ARGMAX)
            index = x >= value ? n : index;
        if (function >= FERRY_REDUCE_MAX)
            value = x >= value ? x : value;
        else
            value += function == FERRY_REDUCE_SUM     ? x
                     : function == FERRY_REDUCE_SUMSQ ? x * x
                                                      : fabs(x);
    }
    return function == FERRY_REDUCE_ARGMAX ? index : value * s->op->params.reduce.scale;
}

void oracle_reduce(const struct scene *s)
{
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o))
        view_set(&s->out[0], at.i, reduced(s, at.i));
}

void oracle_moments(const struct scene *s)
{
    ferry_operand part = reduced_part(s);
    double n = (double)ferry__operand_count(&part);
    struct walk at, w;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o)) {
        double sum = 0, squares = 0;

        for (w = walk_over(&part); w.left; walk_on(&w, &part))
            sum += part_get(s, at.i, w.i);
        for (w = walk_over(&part); w.left; walk_on(&w, &part)) {
            double d = part_get(s, at.i, w.i) - sum / n;

            squares += d * d;
        }
        view_set(&s->out[0], at.i, n > 0 ? sum / n : 0);
        view_set(&s->out[1], at.i, n > 0 ? squares / n : 0);
    }
}

/* The whole row is read before any of it is written: y may be x. */
static void softmax_row(const struct scene *s, const int64_t *first)
{
    uint32_t axis = s->op->params.softmax.axis, i;
    int64_t at[FERRY_OP_AXES], n = s->in[0].o.shape[axis];
    double max = -INFINITY, sum = 0;

    for (i = 0; i < FERRY_OP_AXES; i++)
        at[i] = first[i];
    for (at[axis] = 0; at[axis] < n; at[axis]++)
        max = fmax(max, view_get(&s->in[0], at));
    for (at[axis] = 0; at[axis] < n; at[axis]++)
        sum += exp(view_get(&s->in[0], at) - max);
    for (at[axis] = 0; at[axis] < n; at[axis]++) {
        double x = view_get(&s->in[0], at) - max;

        view_set(&s->out[0], at, s->op->params.softmax.logarithm ? x - log(sum) : exp(x) / sum);
    }
}

void oracle_softmax(const struct scene *s)
{
    ferry_operand rows = s->out[0].o;
    struct walk at;

    if (rows.shape[s->op->params.softmax.axis])
        rows.shape[s->op->params.softmax.axis] = 1;
    for (at = walk_over(&rows); at.left; walk_on(&at, &rows))
        softmax_row(s, at.i);
}

void oracle_strided_copy(const struct scene *s)
{
    const struct view *x = &s->in[0], *y = &s->out[0];
    size_t size = ferry_dtype_size((ferry_dtype)y->o.dtype);
    struct walk at;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o))
        if (x->o.dtype == y->o.dtype) /* whose I64 a double does not hold */
            memcpy((char *)y->at + view_place(y, at.i) * (int64_t)size,
                   (const char *)x->at + view_place(x, at.i) * (int64_t)size, size);
        else
            view_set(y, at.i, view_get(x, at.i));
}
