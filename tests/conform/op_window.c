/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The reference of what has a window: one element of the output at a time. */

/* The next element of the kernel; false past the last. */
static bool kernel_next(const ferry_op_window *w, int64_t *k)
{
    for (uint32_t axis = w->axes; axis-- > 0; k[axis] = 0)
        if (++k[axis] < w->kernel[axis])
            return true;
    return false;
}

/* The element of the image that kernel element k of window y sees; false in the padding. */
static bool seen(const ferry_op_window *w, const int64_t *shape, const int64_t *y, const int64_t *k,
                 int64_t *x)
{
    for (uint32_t axis = 0; axis < w->axes; axis++) {
        x[axis] = y[axis] * w->stride[axis] - w->pad[axis] + k[axis] * w->dilation[axis];
        if (x[axis] < 0 || x[axis] >= shape[axis])
            return false;
    }
    return true;
}

/* The reverse: which window has x under its kernel element k; false where none has. */
static bool seen_by(const ferry_op_window *w, const int64_t *shape, const int64_t *x,
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

static void add_term(struct op_number *out, long double term)
{
    out->value += term;
    out->magnitude += fabsl(term);
    out->roundings++;
}

/* ---- convolution ---------------------------------------------------------------------------- */

void op_expect_convolution(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const ferry_operand *x = &s->in[0].o;
    int64_t outputs = s->out[0].o.shape[1], mine = outputs / w->group;
    int64_t channels = x->shape[1] / w->group, group = i[1] / mine;

    for (int64_t c = 0; c < channels; c++) {
        int64_t xi[FERRY_OP_AXES] = { i[0], group * channels + c };
        int64_t wi[FERRY_OP_AXES] = { i[1], c };

        if (w->transposed) {
            wi[0] = xi[1];
            wi[1] = i[1] % mine;
        }
        do
            if (w->transposed ? seen_by(w, &x->shape[2], &i[2], &wi[2], &xi[2])
                              : seen(w, &x->shape[2], &i[2], &wi[2], &xi[2]))
                add_term(out, op_get(&s->in[0], xi) * op_get(&s->in[1], wi));
        while (kernel_next(w, &wi[2]));
    }
    if (s->op->n_in > 2)
        add_term(out, op_get(&s->in[2], &i[1]));
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
    if (seen(w, &s->in[0].o.shape[2], &i[2], k, &x[2]))
        out->value = op_get(&s->in[0], x);
}

void op_expect_col2im(const struct op_scene *s, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    int64_t k[FERRY_OP_SPATIAL] = { 0 }, n = 0;

    do {
        int64_t column[FERRY_OP_AXES] = { i[0], i[1] * kernel_count(w) + n++ };

        if (seen_by(w, &s->in[0].o.shape[2], &i[2], k, &column[2]))
            add_term(out, op_get(&s->in[0], column));
    } while (kernel_next(w, k));
}

/* ---- pool ----------------------------------------------------------------------------------- */

static int64_t divisor(const ferry_op *op, const int64_t *y)
{
    const ferry_op_window *w = &op->params.window;
    bool padded = op->params.pool.divisor == FERRY_POOL_DIVISOR_PADDED;
    int64_t n = 1;

    for (uint32_t axis = 0; axis < w->axes; axis++) {
        int64_t from = y[axis] * w->stride[axis] - w->pad[axis], to = from + w->kernel[axis];
        int64_t first = padded ? from : 0;
        int64_t end = op->in[0].shape[axis + 2] + (padded ? w->pad_end[axis] : 0);

        n *= (to < end ? to : end) - (from > first ? from : first);
    }
    return n;
}

void op_expect_pool(const struct op_scene *s, uint32_t n, const int64_t *i, struct op_number *out)
{
    const ferry_op_window *w = &s->op->params.window;
    const int64_t *shape = s->in[0].o.shape;
    int64_t x[FERRY_OP_AXES] = { i[0], i[1] }, k[FERRY_OP_SPATIAL] = { 0 }, mask = -1;
    long double most = -(long double)FLT_MAX;

    do {
        int64_t at = 0;

        if (!seen(w, &shape[2], &i[2], k, &x[2]))
            continue;
        for (uint32_t axis = 0; axis < w->axes; axis++)
            at = at * shape[axis + 2] + x[axis + 2];
        if (op_get(&s->in[0], x) > most) {
            most = op_get(&s->in[0], x);
            mask = at;
        }
        add_term(out, op_get(&s->in[0], x));
    } while (kernel_next(w, k));
    if (s->op->params.pool.method == FERRY_POOL_MAX) {
        *out = (struct op_number){ .value = n ? (long double)mask : most };
        return;
    }
    out->value /= (long double)divisor(s->op, &i[2]);
    out->magnitude /= (long double)divisor(s->op, &i[2]);
    out->roundings += 2;
}
