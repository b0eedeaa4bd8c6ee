/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's backward passes of the kinds with a window or with neighbours. Each sum gathers. */
#include "op/oracle_parts.h"

#include <math.h>
#include <string.h>

static void add_to(const struct view *v, const int64_t *at, double value)
{
    view_set(v, at, view_get(v, at) + value);
}

/* ---- convolution, inner product ---------------------------------------------------------------- */

/* The gradient of x is what dy spreads by the kernel: a convolution transposed once more. */
void oracle_convolution_data(const struct scene *s)
{
    struct scene turned = *s;
    ferry_op_desc op = *s->op;

    op.params.window.transposed = !op.params.window.transposed;
    turned.op = &op;
    oracle_convolution(&turned);
}

/* The sum over all places of what element `at` of w joins there. */
static double joined(const struct scene *s, const int64_t *at)
{
    const ferry_op_window *w = &s->op->params.window;
    const struct view *wide = &s->in[w->transposed ? 0 : 1];
    const struct view *narrow = &s->in[w->transposed ? 1 : 0];
    const ferry_operand *weights = &s->out[0].o;
    int64_t group = at[0] / (weights->shape[0] / w->group);
    ferry_operand places = narrow->o;
    double sum = 0;
    struct walk p;

    places.shape[1] = 1;
    for (p = walk_over(&places); p.left; walk_on(&p, &places)) {
        int64_t image[FERRY_OP_AXES] = { p.i[0], group * weights->shape[1] + at[1] };

        p.i[1] = at[0];
        if (oracle_inside(w, &wide->o, &p.i[2], &at[2], &image[2]))
            sum += view_get(wide, image) * view_get(narrow, p.i);
        p.i[1] = 0;
    }
    return sum;
}

void oracle_convolution_weights(const struct scene *s)
{
    struct walk at;

    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o))
        add_to(&s->out[0], at.i, joined(s, at.i));
}

/* Where column k of an inner product is in x: its axes from 1 on. */
static void column_place(const ferry_operand *x, int64_t k, int64_t *at)
{
    uint32_t axis = x->rank;

    while (axis-- > 1) {
        at[axis] = k % x->shape[axis];
        k /= x->shape[axis];
    }
}

void oracle_inner_product_data(const struct scene *s)
{
    const struct view *dy = &s->in[0], *w = &s->in[1], *dx = &s->out[0];
    int64_t at[FERRY_OP_AXES], k, n;

    for (at[0] = 0; at[0] < dy->o.shape[0]; at[0]++)
        for (k = 0; k < w->o.shape[1]; k++) {
            double sum = 0;

            for (n = 0; n < w->o.shape[0]; n++)
                sum += view_get(dy, (int64_t[]){ at[0], n }) * view_get(w, (int64_t[]){ n, k });
            column_place(&dx->o, k, at);
            view_set(dx, at, sum);
        }
}

void oracle_inner_product_weights(const struct scene *s)
{
    const struct view *dy = &s->in[0], *x = &s->in[1], *dw = &s->out[0];
    struct walk w;

    for (w = walk_over(&dw->o); w.left; walk_on(&w, &dw->o)) {
        int64_t at[FERRY_OP_AXES];
        double sum = 0;

        column_place(&x->o, w.i[1], at);
        for (at[0] = 0; at[0] < dy->o.shape[0]; at[0]++)
            sum += view_get(dy, (int64_t[]){ at[0], w.i[0] }) * view_get(x, at);
        add_to(dw, w.i, sum);
    }
}

void oracle_inner_product_bias(const struct scene *s)
{
    oracle_convolution_bias(s);
}

void oracle_convolution_bias(const struct scene *s)
{
    const struct view *dy = &s->in[0];
    ferry_operand channel = dy->o;
    int64_t c;

    channel.shape[1] = 1;
    for (c = 0; c < dy->o.shape[1]; c++) {
        double sum = 0;
        struct walk at;

        for (at = walk_over(&channel); at.left; walk_on(&at, &channel)) {
            at.i[1] = c;
            sum += view_get(dy, at.i);
            at.i[1] = 0;
        }
        add_to(&s->out[0], &c, sum);
    }
}

/* ---- pool -------------------------------------------------------------------------------------- */

/* What the window at `y`, which holds the element at `x`, gives to it. */
static double given(const struct scene *s, const int64_t *y, const int64_t *x)
{
    const ferry_operand *image = &s->out[0].o;
    double dy = view_get(&s->in[0], y);

    if (s->op->params.pool.method == FERRY_POOL_MAX)
        return view_get(&s->in[1], y) == (double)oracle_in_plane(image, x) ? dy : 0;
    return dy / oracle_divisor(s->op, image, y);
}

void oracle_pool_data(const struct scene *s)
{
    const ferry_op_window *w = &s->op->params.window;
    const struct view *dx = &s->out[0];
    struct walk at;

    for (at = walk_over(&dx->o); at.left; walk_on(&at, &dx->o)) {
        int64_t y[FERRY_OP_AXES] = { at.i[0], at.i[1] }, k[FERRY_OP_SPATIAL] = { 0 };
        double sum = 0;

        do
            if (oracle_reached(w, &s->in[0].o, &at.i[2], k, &y[2]))
                sum += given(s, y, at.i);
        while (oracle_kernel_on(w, k));
        view_set(dx, at.i, sum);
    }
}

/* ---- local response normalisation -------------------------------------------------------------- */

/* dy·y/scale at one place; 0 beside the image. */
static double share_at(const struct scene *s, const int64_t *at)
{
    const ferry_operand *o = &s->in[0].o;
    uint32_t i;

    for (i = 0; i < o->rank; i++)
        if (at[i] < 0 || at[i] >= o->shape[i])
            return 0;
    return view_get(&s->in[0], at) * view_get(&s->in[2], at) / view_get(&s->in[3], at);
}

/* The sum of those around a place. */
static double shares(const struct scene *s, const int64_t *center)
{
    bool across = s->op->params.lrn.region == FERRY_LRN_ACROSS;
    int64_t half = s->op->params.lrn.size / 2, at[FERRY_OP_AXES], i, k;
    uint32_t h = across ? 1 : s->in[0].o.rank - 2, w = s->in[0].o.rank - 1;
    double sum = 0;

    memcpy(at, center, sizeof at);
    for (i = -half; i <= half; i++)
        for (k = across ? 0 : -half; k <= (across ? 0 : half); k++) {
            at[h] = center[h] + i;
            if (!across)
                at[w] = center[w] + k;
            sum += share_at(s, at);
        }
    return sum;
}

void oracle_lrn_data(const struct scene *s)
{
    double alpha = s->op->params.lrn.alpha, beta = s->op->params.lrn.beta;
    double n = (double)s->op->params.lrn.size;
    struct walk at;

    if (s->op->params.lrn.region == FERRY_LRN_WITHIN)
        n *= n;
    for (at = walk_over(&s->out[0].o); at.left; walk_on(&at, &s->out[0].o)) {
        double own = view_get(&s->in[0], at.i) * pow(view_get(&s->in[3], at.i), -beta);

        view_set(&s->out[0], at.i,
                 own - 2 * alpha * beta / n * view_get(&s->in[1], at.i) * shares(s, at.i));
    }
}

/* ---- resize ------------------------------------------------------------------------------------ */

/* How much element j of an axis counts in element i of its resized form. */
static double weight(const ferry_op_desc *op, int64_t i, int64_t j, int64_t in, int64_t out)
{
    struct oracle_sample sample = oracle_sample_of(op, i, in, out);

    return (sample.at[0] == j ? 1 - sample.second : 0) + (sample.at[1] == j ? sample.second : 0);
}

void oracle_resize_data(const struct scene *s)
{
    const ferry_operand *x = &s->out[0].o, *y = &s->in[0].o;
    struct walk at;

    for (at = walk_over(x); at.left; walk_on(&at, x)) {
        int64_t i[4] = { at.i[0], at.i[1] };
        double sum = 0;

        for (i[2] = 0; i[2] < y->shape[2]; i[2]++) {
            double h = weight(s->op, i[2], at.i[2], x->shape[2], y->shape[2]);

            for (i[3] = 0; h != 0 && i[3] < y->shape[3]; i[3]++) {
                double w = weight(s->op, i[3], at.i[3], x->shape[3], y->shape[3]);

                if (w != 0)
                    sum += h * w * view_get(&s->in[0], i);
            }
        }
        view_set(&s->out[0], at.i, sum);
    }
}
