/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's backward passes of sums and functions of elements; and which passes there are. */
#include "op/oracle_parts.h"
#include "op/unary.h"

#include <math.h>
#include <stddef.h>

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

void oracle_unary_data(const struct scene *s)
{
    double a = s->op->params.unary.a, b = s->op->params.unary.b, c = s->op->params.unary.c;
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o)) {
        double r = view_get(&s->in[1], at.i);
        double slope = ferry__unary_slope(s->op->params.unary.function, r, a, b, c);

        view_set(&s->out[0], at.i, view_get(&s->in[0], at.i) * slope);
    }
}

/* ---- binary ------------------------------------------------------------------------------------ */

void oracle_binary_data(const struct scene *s)
{
    bool max = s->op->params.binary.function == FERRY_BINARY_MAX;
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o)) {
        double dy = view_get(&s->in[0], at.i), x = view_get(&s->in[1], at.i);
        double u = view_get(&s->in[2], at.i);

        view_set(&s->out[0], at.i, max ? (x > u ? dy : 0) : (x > 0 ? dy : u * dy));
    }
}

/* What the place `at` adds to the gradient of u or v. */
static double binary_share(const struct scene *s, const int64_t *at)
{
    double dy = view_get(&s->in[0], at), x;

    if (s->op->n_in < 2)
        return s->op->params.binary.function == FERRY_BINARY_SUM ? s->op->params.binary.b * dy : dy;
    x = view_get(&s->in[1], at);
    switch (s->op->params.binary.function) {
    case FERRY_BINARY_MAX:
        return x > view_get(&s->in[2], at) ? 0 : dy;
    case FERRY_BINARY_PRELU:
        return x > 0 ? 0 : x * dy;
    default:
        return x * dy;
    }
}

/* The sum over what is repeated of each element of u or v. */
void oracle_binary_weights(const struct scene *s)
{
    const ferry_operand *whole = &s->in[0].o, *u = &s->out[0].o;
    ferry_operand part = *whole;
    struct walk at, w;
    uint32_t i;

    for (i = 0; i < u->rank; i++)
        if (u->shape[i] == whole->shape[i])
            part.shape[i] = 1;
    for (at = walk_over(u); at.left; walk_on(&at, u)) {
        double sum = 0;

        for (w = walk_over(&part); w.left; walk_on(&w, &part)) {
            int64_t place[FERRY_OP_AXES];

            for (i = 0; i < u->rank; i++)
                place[i] = at.i[i] + w.i[i];
            sum += binary_share(s, place);
        }
        view_set(&s->out[0], at.i, view_get(&s->out[0], at.i) + sum);
    }
}

void oracle_binary_bias(const struct scene *s)
{
    oracle_binary_weights(s);
}

/* ---- reductions -------------------------------------------------------------------------------- */

void oracle_reduce_data(const struct scene *s)
{
    uint32_t function = s->op->params.reduce.function;
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o)) {
        double dy = s->op->params.reduce.scale * view_get(&s->in[0], at.i);

        if (function == FERRY_REDUCE_SUMSQ)
            dy *= 2 * view_get(&s->in[1], at.i);
        else if (function == FERRY_REDUCE_ASUM)
            dy *= sign(view_get(&s->in[1], at.i));
        view_set(&s->out[0], at.i, dy);
    }
}

/* One mean: its sums first, so that dx may be dy. */
static void moments_part(const struct scene *s, const ferry_operand *part, const int64_t *first)
{
    bool whole = s->op->n_in > 2;
    double n = (double)ferry__operand_count(part), sum = 0, product = 0;
    int64_t at[FERRY_OP_AXES] = { 0 };
    struct walk w;
    uint32_t i;
    int turn;

    for (turn = 0; turn < 2; turn++)
        for (w = walk_over(part); w.left; walk_on(&w, part)) {
            double dy, y;

            for (i = 0; i < part->rank; i++)
                at[i] = first[i] + w.i[i];
            dy = view_get(&s->in[0], at);
            y = whole ? view_get(&s->in[1], at) : 0;
            if (turn)
                view_set(&s->out[0], at,
                         (dy - sum / n - y * product / n) * (whole ? view_get(&s->in[2], at) : 1));
            sum += turn ? 0 : dy;
            product += turn ? 0 : dy * y;
        }
}

void oracle_moments_data(const struct scene *s)
{
    ferry_operand part = s->in[0].o, means = part;
    struct walk at;
    uint32_t i;

    for (i = 0; i < part.rank; i++)
        if (s->op->params.reduce.axes >> i & 1)
            means.shape[i] = means.shape[i] ? 1 : 0;
        else
            part.shape[i] = 1;
    for (at = walk_over(&means); at.left; walk_on(&at, &means))
        moments_part(s, &part, at.i);
}

static void softmax_row_data(const struct scene *s, const int64_t *first)
{
    uint32_t axis = s->op->params.softmax.axis, i;
    bool logarithm = s->op->params.softmax.logarithm;
    int64_t at[FERRY_OP_AXES], n = s->in[0].o.shape[axis];
    double sum = 0;

    for (i = 0; i < FERRY_OP_AXES; i++)
        at[i] = first[i];
    for (at[axis] = 0; at[axis] < n; at[axis]++)
        sum += view_get(&s->in[0], at) * (logarithm ? 1 : view_get(&s->in[1], at));
    for (at[axis] = 0; at[axis] < n; at[axis]++) {
        double dy = view_get(&s->in[0], at), y = view_get(&s->in[1], at);

        view_set(&s->out[0], at, logarithm ? dy - exp(y) * sum : y * (dy - sum));
    }
}

void oracle_softmax_data(const struct scene *s)
{
    ferry_operand rows = s->out[0].o;
    struct walk at;

    if (rows.shape[s->op->params.softmax.axis])
        rows.shape[s->op->params.softmax.axis] = 1;
    for (at = walk_over(&rows); at.left; walk_on(&at, &rows))
        softmax_row_data(s, at.i);
}
