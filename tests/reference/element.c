/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include <ferry/op_types.h>
#include <math.h>
#include <string.h>

/* The reference of the kinds without a window. */

#define SOME 24 /* permitted roundings of a transcendental function */

void op_set(struct op_number *out, long double value, long double magnitude, double roundings)
{
    *out = (struct op_number){ value, fabsl(magnitude), roundings };
}

/* ---- one element of each input -------------------------------------------------------------- */

static void binary(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    long double x = op_get_repeated(&s->in[0], i), u = op_get_repeated(&s->in[1], i);
    long double v = s->own_in > 2 ? op_get_repeated(&s->in[2], i) : 0;
    long double a = (long double)s->op->params.binary.a, b = (long double)s->op->params.binary.b;

    switch (s->op->params.binary.function) {
    case FERRY_BINARY_SUM:
        op_set(out, a * x + b * u, fabsl(a * x) + fabsl(b * u), 3);
        return;
    case FERRY_BINARY_PRODUCT:
        op_set(out, x * u, x * u, 1);
        return;
    case FERRY_BINARY_MAX:
        op_set(out, x > u ? x : u, 0, 0);
        return;
    case FERRY_BINARY_SCALE:
        op_set(out, x * u + v, fabsl(x * u) + fabsl(v), 2);
        return;
    case FERRY_BINARY_PRELU:
        op_set(out, x > 0 ? x : u * x, x, 1);
        return;
    case FERRY_BINARY_NORMALISE:
        op_set(out, (x - u) * v, (fabsl(x) + fabsl(u)) * v, 3);
        return;
    default:
        op_set(out, x / u, x / u, 4);
        return;
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

static void inner_product(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_operand *x = &s->in[0].o;
    int64_t xi[FERRY_OP_AXES] = { i[0] }, wi[2] = { i[1], 0 };
    ferry_operand row = *x;

    row.shape[0] = i[0] + 1; /* so that the walk ends with the row */
    for (; wi[1] < s->in[1].o.shape[1]; wi[1]++, op_next(&row, xi))
        op_add(out, op_get(&s->in[0], xi) * op_get(&s->in[1], wi));
    if (s->own_in > 2)
        op_add(out, op_get(&s->in[2], &i[1]));
}

static void gemm(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    long double alpha = (long double)s->op->params.gemm.alpha;
    int64_t a[3] = { s->in[0].o.shape[0] > 1 ? i[0] : 0, i[1], 0 };
    int64_t b[3] = { s->in[1].o.shape[0] > 1 ? i[0] : 0, 0, i[2] };

    for (; a[2] < s->in[0].o.shape[2]; a[2]++, b[1]++)
        op_add(out, alpha * op_get(&s->in[0], a) * op_get(&s->in[1], b));
    if (s->own_in > 2 && s->op->params.gemm.beta != 0)
        op_add(out, (long double)s->op->params.gemm.beta * op_get_repeated(&s->in[2], i));
    out->roundings += 2;
}

struct sums {
    long double n, sum, squares, absolute, most;
    int64_t where; /* the index of the last of the largest, along the last reduced axis */
};

/* Over the axes of `mask`, at y's index. */
static struct sums reduce_at(const struct op_view *b, uint32_t mask, const int64_t *i)
{
    struct sums r = { .most = -INFINITY };
    int64_t at[FERRY_OP_AXES] = { 0 };
    uint32_t last = 0; /* of the reduced axes */

    if (op_count(&b->o) == 0)
        return r;
    for (uint32_t axis = 0; axis < b->o.rank; axis++) {
        at[axis] = mask >> axis & 1 ? 0 : i[axis];
        last = mask >> axis & 1 ? axis : last;
    }
    do {
        long double x = op_get(b, at);

        r.n++;
        r.sum += x;
        r.squares += x * x;
        r.absolute += fabsl(x);
        r.where = x >= r.most ? at[last] : r.where;
        r.most = x > r.most ? x : r.most;
    } while (op_next_along(&b->o, mask, at));
    return r;
}

/* REDUCE and MOMENTS are as exact as pairwise summation of groups of 32. */
static double sum_cost(double n)
{
    return n <= 32 ? n + 2 : 34 + 2 * log2(n / 32);
}

static void reduce(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    struct sums r = reduce_at(&s->in[0], s->op->params.reduce.axes, i);
    long double scale = (long double)s->op->params.reduce.scale;
    double cost = sum_cost((double)r.n);

    switch (s->op->params.reduce.function) {
    case FERRY_REDUCE_SUM:
        op_set(out, scale * r.sum, scale * r.absolute, cost);
        return;
    case FERRY_REDUCE_SUMSQ:
        op_set(out, scale * r.squares, scale * r.squares, cost);
        return;
    case FERRY_REDUCE_ASUM:
        op_set(out, scale * r.absolute, scale * r.absolute, cost);
        return;
    case FERRY_REDUCE_MAX:
        op_set(out, scale * r.most, scale * r.most, 1);
        return;
    default:
        op_set(out, (long double)r.where, 0, 0);
        return;
    }
}

static void moments(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    struct sums r = reduce_at(&s->in[0], s->op->params.reduce.axes, i);
    long double mean = r.n > 0 ? r.sum / r.n : 0;

    if (r.n == 0)
        op_set(out, 0, 0, 0);
    else if (n == 0)
        op_set(out, mean, r.absolute / r.n, sum_cost((double)r.n));
    else
        op_set(out, r.squares / r.n - mean * mean, r.squares / r.n, sum_cost((double)r.n) + 8);
}

/* ---- neighbours ----------------------------------------------------------------------------- */

static void softmax(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    uint32_t axis = s->op->params.softmax.axis;
    long double x = op_get(&s->in[0], i), most = -INFINITY, sum = 0;
    int64_t at[FERRY_OP_AXES], n = s->in[0].o.shape[axis];

    memcpy(at, i, sizeof(at));
    for (at[axis] = 0; at[axis] < n; at[axis]++)
        most = fmaxl(most, op_get(&s->in[0], at));
    for (at[axis] = 0; at[axis] < n; at[axis]++)
        sum += expl(op_get(&s->in[0], at) - most);
    if (s->op->params.softmax.logarithm)
        op_set(out, x - most - logl(sum), 1 + fabsl(x - most) + logl(sum), SOME + (double)n);
    else
        op_set(out, expl(x - most) / sum, expl(x - most) / sum * (1 + fabsl(x - most)),
               SOME + (double)n);
}

static void lrn(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    const ferry_operand *x = &s->in[0].o;
    bool across = s->op->params.lrn.region == FERRY_LRN_ACROSS;
    int64_t size = s->op->params.lrn.size, at[FERRY_OP_AXES];
    uint32_t from = across ? 1 : x->rank - 2, to = across ? 1 : x->rank - 1;
    int64_t cells = across ? size : size * size;
    long double squares = 0, scale;

    for (int64_t cell = 0; cell < cells; cell++) {
        bool inside = true;

        memcpy(at, i, sizeof(at));
        at[from] += (from == to ? cell : cell / size) - size / 2;
        at[to] += from == to ? 0 : cell % size - size / 2;
        for (uint32_t axis = from; axis <= to; axis++)
            inside = inside && at[axis] >= 0 && at[axis] < x->shape[axis];
        squares += inside ? op_get(&s->in[0], at) * op_get(&s->in[0], at) : 0;
    }
    scale = (across ? (long double)s->op->params.lrn.k : 1) +
            (long double)s->op->params.lrn.alpha / (long double)cells * squares;
    if (n == 0)
        scale = op_get(&s->in[0], i) * powl(scale, -(long double)s->op->params.lrn.beta);
    op_set(out, scale, scale, SOME + (double)cells);
}

static void gather(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    uint32_t index = s->in[1].o.rank;
    long double row = op_get(&s->in[1], i);
    int64_t at[FERRY_OP_AXES] = { (int64_t)row };

    for (uint32_t axis = 1; axis < s->in[0].o.rank; axis++)
        at[axis] = i[index + axis - 1];
    if (row >= 0 && row < (long double)s->in[0].o.shape[0])
        out->value = op_get(&s->in[0], at);
}

/* ---- all kinds ------------------------------------------------------------------------------ */

static bool expect(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    const ferry_op_desc *op = s->op;

    switch (op->kind) {
    case FERRY_OP_CONVOLUTION:
        return op_expect_convolution(s, i, out), true;
    case FERRY_OP_INNER_PRODUCT:
        return inner_product(s, i, out), true;
    case FERRY_OP_IM2COL:
        return op_expect_im2col(s, i, out), true;
    case FERRY_OP_COL2IM:
        return op_expect_col2im(s, i, out), true;
    case FERRY_OP_BATCHED_GEMM:
        return gemm(s, i, out), true;
    case FERRY_OP_POOL:
        return op_expect_pool(s, n, i, out), true;
    case FERRY_OP_UNARY:
        return op_unary(op->params.unary.function, op_get(&s->in[0], i), op->params.unary.a,
                        op->params.unary.b, op->params.unary.c, out),
               true;
    case FERRY_OP_BINARY:
        return binary(s, i, out), true;
    case FERRY_OP_REDUCE:
        return reduce(s, i, out), true;
    case FERRY_OP_MOMENTS:
        return moments(s, n, i, out), true;
    case FERRY_OP_SOFTMAX:
        return softmax(s, i, out), true;
    case FERRY_OP_LRN:
        return lrn(s, n, i, out), true;
    case FERRY_OP_STRIDED_COPY:
        return out->value = op_get(&s->in[0], i), true;
    case FERRY_OP_GATHER:
        return gather(s, i, out), true;
    case FERRY_OP_RESIZE:
        return op_expect_resize(s, i, out), true;
    case FERRY_OP_ROI_POOL:
        return op_expect_roi_pool(s, i, out), true;
    case FERRY_OP_SCATTER_ADD:
        return op_expect_scatter_add(s, i, out), true;
    case FERRY_OP_RANDOM:
        return op_expect_random(s, i, out), true;
    case FERRY_OP_UPDATE:
        return op_expect_update(s, n, i, out), true;
    default:
        return false;
    }
}

/* A step of the epilogue, whose operand is as large as y, or has an element for each channel. */
static void step(const struct op_scene *s, const ferry_op_step *step, const int64_t *i,
                 struct op_number *out)
{
    struct op_number before = *out;
    long double u = 0;

    if (step->step != FERRY_STEP_UNARY)
        u = op_get(&s->in[step->operand], step->step == FERRY_STEP_ADD ? i : &i[1]);
    if (step->step == FERRY_STEP_UNARY)
        op_unary(step->function, before.value, step->a, step->b, step->c, out);
    else if (step->step == FERRY_STEP_SCALE)
        op_set(out, before.value * u, before.magnitude * u, 1);
    else if (step->step == FERRY_STEP_PRELU)
        op_set(out, before.value > 0 ? before.value : u * before.value, before.magnitude * u, 1);
    else
        op_set(out, before.value + u, before.magnitude + fabsl(u), 1);
    out->magnitude = fmaxl(out->magnitude, before.magnitude);
    out->roundings += before.roundings;
}

bool op_expect(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    *out = (struct op_number){ .value = 0 };
    if (s->op->pass != FERRY_PASS_FORWARD)
        return op_expect_backward(s, i, out);
    if (!expect(s, n, i, out))
        return false;
    for (uint32_t k = 0; n == 0 && k < s->op->n_epilogue; k++)
        step(s, &s->op->epilogue[k], i, out);
    return true;
}
