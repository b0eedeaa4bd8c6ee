/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/reference/reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The reference of the kinds with a window: one element of the output at a time. */

/* The next element of the kernel; false after the last. */
static bool kernel_next(const ferry_op_window *w, int64_t *k)
{
    for (uint32_t axis = w->axes; axis-- > 0; k[axis] = 0)
        if (++k[axis] < w->kernel[axis])
            return true;
    return false;
}

bool op_covered(const ferry_op_window *w, const int64_t *shape, const int64_t *y, const int64_t *k,
                int64_t *x)
{
    for (uint32_t axis = 0; axis < w->axes; axis++) {
        x[axis] = y[axis] * w->stride[axis] - w->pad[axis] + k[axis] * w->dilation[axis];
        if (x[axis] < 0 || x[axis] >= shape[axis])
            return false;
    }
    return true;
}

/*
 * The reverse of op_covered: finds the window whose kernel element k covers x; false if there is no
 * such window.
 */
static bool covered_by(const ferry_op_window *w, const int64_t *shape, const int64_t *x,
                       const int64_t *k, int64_t *y)
{
    for (uint32_t axis = 0; axis < w->axes; axis++) {
        int64_t at = x[axis] + w->pad[axis] - k[axis] * w->dilation[axis];

        y[axis] = at / w->stride[axis];
        if (at < 0 || at % w->stride[axis] || y[axis] >= shape[axis])
            return false;
    }
    return true;
}

/* ---- convolution ---------------------------------------------------------------------------- */

/* Adds the sum of n products, of elements whose distances are the strides of an axis of each. */
static void add_products(struct op_number *out, int64_t n, const struct op_view *x, int64_t x_at,
                         int64_t x_stride, const struct op_view *w, int64_t w_at, int64_t w_stride)
{
    struct op_number sum = *out;

    for (; n > 0; n--, x_at += x_stride, w_at += w_stride)
        op_add(&sum, op_at(x, x_at) * op_at(w, w_at));
    *out = sum;
}

void op_expect_convolution(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const ferry_operand *x = &s->in[0].o, *weights = &s->in[1].o;
    int64_t outputs = s->out[0].o.shape[1], mine = outputs / w->group;
    int64_t channels = x->shape[1] / w->group, first = i[1] / mine * channels;
    int64_t xi[FERRY_OP_AXES] = { i[0], first };
    int64_t wi[FERRY_OP_AXES] = { w->transposed ? first : i[1], w->transposed ? i[1] % mine : 0 };

    do
        if (w->transposed ? covered_by(w, &x->shape[2], &i[2], &wi[2], &xi[2])
                          : op_covered(w, &x->shape[2], &i[2], &wi[2], &xi[2]))
            add_products(out, channels, &s->in[0], op_place(x, xi), x->stride[1], &s->in[1],
                         op_place(weights, wi), weights->stride[!w->transposed]);
    while (kernel_next(w, &wi[2]));
    if (s->own_in > 2)
        op_add(out, op_get(&s->in[2], &i[1]));
}

/* The gradient of x from that of y; of a transposed convolution the reverse. */
void op_expect_convolution_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const ferry_operand *dy = &s->in[0].o, *weights = &s->in[1].o;
    int64_t mine = s->out[0].o.shape[1] / w->group, outputs = dy->shape[1] / w->group;
    int64_t first = i[1] / mine * outputs;
    int64_t yi[FERRY_OP_AXES] = { i[0], first };
    int64_t wi[FERRY_OP_AXES] = { w->transposed ? i[1] : first, w->transposed ? 0 : i[1] % mine };

    do
        if (w->transposed ? op_covered(w, &dy->shape[2], &i[2], &wi[2], &yi[2])
                          : covered_by(w, &dy->shape[2], &i[2], &wi[2], &yi[2]))
            add_products(out, outputs, &s->in[0], op_place(dy, yi), dy->stride[1], &s->in[1],
                         op_place(weights, wi), weights->stride[w->transposed]);
    while (kernel_next(w, &wi[2]));
}

/*
 * The image that corresponds to the first axis of the weights: y, or x for a transposed
 * convolution.
 */
void op_expect_convolution_weights(const struct op_scene *s, const int64_t *i,
                                   struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const struct op_view *narrow = &s->in[w->transposed], *wide = &s->in[!w->transposed];
    int64_t group = i[0] / (narrow->o.shape[1] / w->group);
    int64_t at[FERRY_OP_AXES] = { 0, i[0] }, from[FERRY_OP_AXES];
    ferry_operand all = narrow->o;

    op_add(out, op_get(&s->out[0], i));
    if (op_count(&narrow->o) == 0)
        return;
    all.shape[1] = i[0] + 1; /* so that the walk continues with the next image */
    do {
        at[1] = i[0];
        from[0] = at[0];
        from[1] = group * (wide->o.shape[1] / w->group) + i[1];
        if (op_covered(w, &wide->o.shape[2], &at[2], &i[2], &from[2]))
            op_add(out, op_get(narrow, at) * op_get(wide, from));
    } while (op_next(&all, at));
}

/* ---- columns -------------------------------------------------------------------------------- */

static int64_t kernel_count(const ferry_op_window *w)
{
    int64_t n = 1;

    for (uint32_t axis = 0; axis < w->axes; axis++)
        n *= w->kernel[axis];
    return n;
}

void op_expect_im2col(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    int64_t x[FERRY_OP_AXES] = { i[0], i[1] / kernel_count(w) }, k[FERRY_OP_SPATIAL];
    int64_t rest = i[1] % kernel_count(w);

    for (uint32_t axis = w->axes; axis-- > 0; rest /= w->kernel[axis])
        k[axis] = rest % w->kernel[axis];
    if (op_covered(w, &s->in[0].o.shape[2], &i[2], k, &x[2]))
        out->value = op_get(&s->in[0], x);
}

void op_expect_col2im(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    int64_t k[FERRY_OP_SPATIAL] = { 0 }, n = 0;

    do {
        int64_t column[FERRY_OP_AXES] = { i[0], i[1] * kernel_count(w) + n++ };

        if (covered_by(w, &s->in[0].o.shape[2], &i[2], k, &column[2]))
            op_add(out, op_get(&s->in[0], column));
    } while (kernel_next(w, k));
}

/* ---- pool ----------------------------------------------------------------------------------- */

/* Elements that an average counts; 0 for a window without any. */
static int64_t divisor(const ferry_op_desc *op, const int64_t *shape, const int64_t *y)
{
    const ferry_op_window *w = &op->params.window;
    bool padded = op->params.pool.divisor == FERRY_POOL_DIVISOR_PADDED;
    int64_t n = 1;

    for (uint32_t axis = 0; axis < w->axes; axis++) {
        int64_t from = y[axis] * w->stride[axis] - w->pad[axis], to = from + w->kernel[axis];
        int64_t first = padded ? from : 0;
        int64_t end = shape[axis + 2] + (padded ? w->pad_end[axis] : 0);

        to = to < end ? to : end;
        from = from > first ? from : first;
        n *= to > from ? to - from : 0;
    }
    return n;
}

void op_expect_pool(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const int64_t *shape = s->in[0].o.shape;
    int64_t x[FERRY_OP_AXES] = { i[0], i[1] }, k[FERRY_OP_SPATIAL] = { 0 }, mask = -1;
    long double most = -(long double)FLT_MAX;
    int64_t counted;

    do {
        int64_t at = 0;

        if (!op_covered(w, &shape[2], &i[2], k, &x[2]))
            continue;
        for (uint32_t axis = 0; axis < w->axes; axis++)
            at = at * shape[axis + 2] + x[axis + 2];
        if (op_get(&s->in[0], x) > most) {
            most = op_get(&s->in[0], x);
            mask = at;
        }
        op_add(out, op_get(&s->in[0], x));
    } while (kernel_next(w, k));
    if (s->op->params.pool.method == FERRY_POOL_MAX) {
        *out = (struct op_number){ .value = n ? (long double)mask : most };
        return;
    }
    counted = divisor(s->op, shape, &i[2]);
    if (counted == 0)
        return; /* nothing was added */
    out->value /= (long double)counted;
    out->magnitude /= (long double)counted;
    out->roundings += 2;
}

void op_expect_pool_data(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const int64_t *shape = s->out[0].o.shape;
    int64_t y[FERRY_OP_AXES] = { i[0], i[1] }, k[FERRY_OP_SPATIAL] = { 0 }, at = 0;

    for (uint32_t axis = 0; axis < w->axes; axis++)
        at = at * shape[axis + 2] + i[axis + 2];
    do {
        if (!covered_by(w, &s->in[0].o.shape[2], &i[2], k, &y[2]))
            continue;
        if (s->op->params.pool.method == FERRY_POOL_AVERAGE)
            op_add(out, op_get(&s->in[0], y) / (long double)divisor(s->op, shape, &y[2]));
        else if (op_get(&s->in[1], y) == (long double)at)
            op_add(out, op_get(&s->in[0], y));
    } while (kernel_next(w, k));
    out->roundings += out->roundings;
}
