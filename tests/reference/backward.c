/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include <ferry/op_types.h>
#include <math.h>
#include <string.h>

/* The reference of the backward passes without a window: in[0] is dy. */

#define SOME 24 /* permitted roundings of a transcendental function */

/* ---- elements ------------------------------------------------------------------------------- */

/* The factor of dy. */
static long double slope(const ferry_op_desc *op, long double r)
{
    return op_unary_slope(op->params.unary.function, r, op->params.unary.a, op->params.unary.b,
                          op->params.unary.c);
}

static void binary_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    long double dy = op_get(&s->in[0], i), x = op_get(&s->in[1], i);
    long double u = op_get_repeated(&s->in[2], i);

    if (s->op->params.binary.function == FERRY_BINARY_MAX)
        op_set(out, x > u ? dy : 0, 0, 0);
    else
        op_set(out, x > 0 ? dy : u * dy, u * dy, 1);
}

/* The contribution of one element of dy to du, or to dv. */
static long double share(const struct op_scene *s, const int64_t *at, const int64_t *i)
{
    long double dy = op_get(&s->in[0], at);
    long double x = s->own_in > 1 ? op_get_repeated(&s->in[1], at) : 0;

    if (s->op->pass == FERRY_PASS_BACKWARD_BIAS)
        return dy;
    switch (s->op->params.binary.function) {
    case FERRY_BINARY_SUM:
        return (long double)s->op->params.binary.b * dy;
    case FERRY_BINARY_MAX:
        return x > op_get(&s->in[2], i) ? 0 : dy;
    case FERRY_BINARY_PRELU:
        return x > 0 ? 0 : x * dy;
    default:
        return x * dy;
    }
}

static void binary_share(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_operand *dy = &s->in[0].o, *du = &s->out[0].o;
    int64_t at[FERRY_OP_AXES] = { 0 };
    uint32_t mask = 0; /* the axes along which dy is summed */

    op_add(out, op_get(&s->out[0], i));
    if (op_count(dy) == 0)
        return;
    for (uint32_t axis = 0; axis < dy->rank; axis++) {
        mask |= du->shape[axis] == 1 ? 1u << axis : 0;
        at[axis] = i[axis];
    }
    do
        op_add(out, share(s, at, i));
    while (op_next_along(dy, mask, at));
    out->roundings += 2;
}

/* ---- matrices and channels ------------------------------------------------------------------ */

/* The sums of dy over all axes but the channel i. */
static void channel_sums(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    int64_t at[FERRY_OP_AXES] = { 0, i[0] };

    op_add(out, op_get(&s->out[0], i));
    if (op_count(&s->in[0].o) == 0)
        return;
    do
        op_add(out, op_get(&s->in[0], at));
    while (op_next_along(&s->in[0].o, ~2u, at));
}

/* The column of w for an element of x. */
static int64_t column_of(const ferry_operand *x, const int64_t *i)
{
    int64_t column = 0;

    for (uint32_t axis = 1; axis < x->rank; axis++)
        column = column * x->shape[axis] + i[axis];
    return column;
}

static void inner_product_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    int64_t y[2] = { i[0], 0 }, w[2] = { 0, column_of(&s->out[0].o, i) };

    for (; y[1] < s->in[0].o.shape[1]; y[1]++, w[0]++)
        op_add(out, op_get(&s->in[0], y) * op_get(&s->in[1], w));
}

static void inner_product_weights(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    int64_t x[FERRY_OP_AXES] = { 0 };

    op_add(out, op_get(&s->out[0], i));
    if (op_count(&s->in[1].o) == 0)
        return;
    do {
        int64_t y[2] = { x[0], i[0] };

        if (column_of(&s->in[1].o, x) == i[1])
            op_add(out, op_get(&s->in[0], y) * op_get(&s->in[1], x));
    } while (op_next(&s->in[1].o, x));
}

/* ---- along axes ----------------------------------------------------------------------------- */

static void reduce_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    long double dy = (long double)s->op->params.reduce.scale * op_get_repeated(&s->in[0], i);
    long double x = s->own_in > 1 ? op_get(&s->in[1], i) : 0;

    if (s->op->params.reduce.function == FERRY_REDUCE_SUM)
        op_set(out, dy, dy, 2);
    else if (s->op->params.reduce.function == FERRY_REDUCE_SUMSQ)
        op_set(out, 2 * dy * x, 2 * dy * x, 4);
    else
        op_set(out, x > 0 ? dy : x < 0 ? -dy : 0, dy, 2);
}

/* Over the axes of `mask` at dy's index: sums of dy and of dy·y, and of their magnitudes. */
struct sums {
    long double n, dy, product, size;
};

static struct sums sums_at(const struct op_scene *s, uint32_t mask, const int64_t *i)
{
    int64_t at[FERRY_OP_AXES] = { 0 };
    struct sums r = { 0 };

    for (uint32_t axis = 0; axis < s->in[0].o.rank; axis++)
        at[axis] = mask >> axis & 1 ? 0 : i[axis];
    do {
        long double dy = op_get(&s->in[0], at);
        long double y = s->own_in > 1 ? op_get(&s->in[1], at) : 0;

        r.n++;
        r.dy += dy;
        r.product += dy * y;
        r.size += fabsl(dy) + fabsl(dy * y);
    } while (op_next_along(&s->in[0].o, mask, at));
    return r;
}

static void moments_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    struct sums r = sums_at(s, s->op->params.reduce.axes, i);
    long double dy = op_get(&s->in[0], i), y = 0, scale = 1;

    if (s->own_in > 1) {
        y = op_get(&s->in[1], i);
        scale = op_get_repeated(&s->in[2], i);
    }
    op_set(out, scale * (dy - r.dy / r.n - y * r.product / r.n),
           fabsl(scale) * (fabsl(dy) + (1 + fabsl(y)) * r.size / r.n), (double)r.n + 8);
}

static void softmax_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    struct sums r = sums_at(s, 1u << s->op->params.softmax.axis, i);
    long double dy = op_get(&s->in[0], i), y = op_get(&s->in[1], i);

    if (s->op->params.softmax.logarithm)
        op_set(out, dy - expl(y) * r.dy, fabsl(dy) + expl(y) * r.size, SOME + (double)r.n);
    else
        op_set(out, y * (dy - r.product), fabsl(y) * (fabsl(dy) + r.size), SOME + (double)r.n);
}

static void lrn_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_operand *x = &s->in[0].o;
    bool across = s->op->params.lrn.region == FERRY_LRN_ACROSS;
    int64_t size = s->op->params.lrn.size, cells = across ? size : size * size;
    uint32_t from = across ? 1 : x->rank - 2, to = across ? 1 : x->rank - 1;
    long double beta = (long double)s->op->params.lrn.beta, sum = 0, sizes = 0;
    long double factor = 2 * (long double)s->op->params.lrn.alpha * beta / (long double)cells;
    long double first = op_get(&s->in[0], i) * powl(op_get(&s->in[3], i), -beta);

    for (int64_t cell = 0; cell < cells; cell++) {
        int64_t at[FERRY_OP_AXES];
        bool inside = true;
        long double term;

        memcpy(at, i, sizeof(at));
        at[from] += (from == to ? cell : cell / size) - size / 2;
        at[to] += from == to ? 0 : cell % size - size / 2;
        for (uint32_t axis = from; axis <= to; axis++)
            inside = inside && at[axis] >= 0 && at[axis] < x->shape[axis];
        if (!inside)
            continue;
        term = op_get(&s->in[0], at) * op_get(&s->in[2], at) / op_get(&s->in[3], at);
        sum += term;
        sizes += fabsl(term);
    }
    factor *= op_get(&s->in[1], i);
    op_set(out, first - factor * sum, fabsl(first) + fabsl(factor) * sizes, SOME + (double)cells);
}

/* ---- all kinds ------------------------------------------------------------------------------ */

static bool expect_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    switch (s->op->kind) {
    case FERRY_OP_CONVOLUTION:
        return op_expect_convolution_data(s, i, out), true;
    case FERRY_OP_INNER_PRODUCT:
        return inner_product_data(s, i, out), true;
    case FERRY_OP_POOL:
        return op_expect_pool_data(s, i, out), true;
    case FERRY_OP_UNARY:
        out->value = slope(s->op, op_get(&s->in[1], i));
        op_set(out, op_get(&s->in[0], i) * out->value,
               op_get(&s->in[0], i) * (2 + fabsl(out->value)), SOME);
        return true;
    case FERRY_OP_BINARY:
        return binary_data(s, i, out), true;
    case FERRY_OP_REDUCE:
        return reduce_data(s, i, out), true;
    case FERRY_OP_MOMENTS:
        return moments_data(s, i, out), true;
    case FERRY_OP_SOFTMAX:
        return softmax_data(s, i, out), true;
    case FERRY_OP_LRN:
        return lrn_data(s, i, out), true;
    case FERRY_OP_RESIZE:
        return op_expect_resize_data(s, i, out), true;
    default:
        return false;
    }
}

bool op_expect_backward(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    if (s->op->pass == FERRY_PASS_BACKWARD_DATA)
        return expect_data(s, i, out);
    if (s->op->kind == FERRY_OP_BINARY)
        return binary_share(s, i, out), true;
    if (s->op->pass == FERRY_PASS_BACKWARD_BIAS)
        return channel_sums(s, i, out), true;
    if (s->op->kind == FERRY_OP_CONVOLUTION)
        return op_expect_convolution_weights(s, i, out), true;
    return inner_product_weights(s, i, out), s->op->kind == FERRY_OP_INNER_PRODUCT;
}
