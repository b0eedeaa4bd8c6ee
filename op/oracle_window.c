/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's kinds with a window. */
#include "op/kind.h"
#include "op/oracle_parts.h"

#include <float.h>

int oracle_kernel_on(const ferry_op_window *w, int64_t *k)
{
    uint32_t axis = w->axes;

    while (axis-- > 0) {
        if (++k[axis] < w->kernel[axis])
            return 1;
        k[axis] = 0;
    }
    return 0;
}

int oracle_inside(const ferry_op_window *w, const ferry_operand *wide, const int64_t *p,
                  const int64_t *k, int64_t *image)
{
    uint32_t i;

    for (i = 0; i < w->axes; i++) {
        image[i] = p[i] * w->stride[i] - w->pad[i] + k[i] * w->dilation[i];
        if (image[i] < 0 || image[i] >= wide->shape[i + 2])
            return 0;
    }
    return 1;
}

int oracle_reached(const ferry_op_window *w, const ferry_operand *narrow, const int64_t *image,
                   const int64_t *k, int64_t *p)
{
    uint32_t i;

    for (i = 0; i < w->axes; i++) {
        int64_t at = image[i] + w->pad[i] - k[i] * w->dilation[i];

        if (at < 0 || at % w->stride[i] || at / w->stride[i] >= narrow->shape[i + 2])
            return 0;
        p[i] = at / w->stride[i];
    }
    return 1;
}

/* What the window at y[2…] of output channel y[1] sees. */
static double seen(const struct scene *s, const int64_t *y)
{
    const ferry_op_window *w = &s->op->params.window;
    const struct view *x = &s->in[0], *weights = &s->in[1];
    int64_t per_group = weights->o.shape[1], first, xi[FERRY_OP_AXES] = { y[0] };
    int64_t wi[FERRY_OP_AXES] = { y[1] };
    double sum = 0;

    first = y[1] / (s->out[0].o.shape[1] / w->group) * per_group;
    do {
        if (!oracle_inside(w, &x->o, &y[2], &wi[2], &xi[2]))
            continue;
        for (wi[1] = 0; wi[1] < per_group; wi[1]++) {
            xi[1] = first + wi[1];
            sum += view_get(x, xi) * view_get(weights, wi);
        }
    } while (oracle_kernel_on(w, &wi[2]));
    return sum;
}

/* What falls on y[2…] of output channel y[1] when each input is spread by the kernel. */
static double fallen(const struct scene *s, const int64_t *y)
{
    const ferry_op_window *w = &s->op->params.window;
    const struct view *x = &s->in[0], *weights = &s->in[1];
    int64_t outputs = weights->o.shape[1], inputs = x->o.shape[1] / w->group, c;
    int64_t xi[FERRY_OP_AXES] = { y[0] }, wi[FERRY_OP_AXES] = { 0 };
    double sum = 0;

    wi[1] = y[1] % outputs;
    do {
        if (!oracle_reached(w, &x->o, &y[2], &wi[2], &xi[2]))
            continue;
        for (c = 0; c < inputs; c++) {
            xi[1] = wi[0] = y[1] / outputs * inputs + c;
            sum += view_get(x, xi) * view_get(weights, wi);
        }
    } while (oracle_kernel_on(w, &wi[2]));
    return sum;
}

void oracle_convolution(const struct scene *s)
{
    const struct view *y = &s->out[0];
    bool bias = ferry__op_own_inputs(s->op) > 2;
    struct walk w;

    for (w = walk_over(&y->o); w.left; walk_on(&w, &y->o)) {
        double sum = s->op->params.window.transposed ? fallen(s, w.i) : seen(s, w.i);

        view_set(y, w.i, sum + (bias ? view_get(&s->in[2], &w.i[1]) : 0));
    }
}

/* Calls `visit` for each element of the columns, with its place in the image if it has one. */
static void each_column(const struct scene *s, const struct view *image, const struct view *columns,
                        void (*visit)(const struct view *, const struct view *,
                                      const int64_t *column, const int64_t *image))
{
    const ferry_op_window *w = &s->op->params.window;
    struct walk at;

    for (at = walk_over(&columns->o); at.left; walk_on(&at, &columns->o)) {
        int64_t k[FERRY_OP_SPATIAL], place[FERRY_OP_AXES] = { at.i[0] }, rest = at.i[1];
        uint32_t i = w->axes;

        while (i-- > 0) {
            k[i] = rest % w->kernel[i];
            rest /= w->kernel[i];
        }
        place[1] = rest;
        visit(image, columns, at.i,
              oracle_inside(w, &image->o, &at.i[2], k, &place[2]) ? place : NULL);
    }
}

static void take_column(const struct view *image, const struct view *columns, const int64_t *column,
                        const int64_t *place)
{
    view_set(columns, column, place ? view_get(image, place) : 0);
}

static void add_column(const struct view *image, const struct view *columns, const int64_t *column,
                       const int64_t *place)
{
    if (place)
        view_set(image, place, view_get(image, place) + view_get(columns, column));
}

void oracle_im2col(const struct scene *s)
{
    each_column(s, &s->in[0], &s->out[0], take_column);
}

void oracle_col2im(const struct scene *s)
{
    struct walk w;

    for (w = walk_over(&s->out[0].o); w.left; walk_on(&w, &s->out[0].o))
        view_set(&s->out[0], w.i, 0);
    each_column(s, &s->out[0], &s->in[0], add_column);
}

double oracle_divisor(const ferry_op_desc *op, const ferry_operand *x, const int64_t *y)
{
    const ferry_op_window *w = &op->params.window;
    double product = 1;
    uint32_t i;

    for (i = 0; i < w->axes; i++) {
        int64_t in = x->shape[i + 2], begin = y[i + 2] * w->stride[i] - w->pad[i];
        int64_t end = begin + w->kernel[i];

        if (op->params.pool.divisor == FERRY_POOL_DIVISOR_PADDED) {
            end = end < in + w->pad_end[i] ? end : in + w->pad_end[i];
        } else {
            begin = begin > 0 ? begin : 0;
            end = end < in ? end : in;
        }
        product *= (double)(end > begin ? end - begin : 0);
    }
    return product;
}

int64_t oracle_in_plane(const ferry_operand *x, const int64_t *at)
{
    int64_t place = 0;
    uint32_t i;

    for (i = 2; i < x->rank; i++)
        place = place * x->shape[i] + at[i];
    return place;
}

void oracle_pool(const struct scene *s)
{
    const ferry_op_window *w = &s->op->params.window;
    const struct view *x = &s->in[0], *y = &s->out[0];
    bool max = s->op->params.pool.method == FERRY_POOL_MAX;
    struct walk at;

    for (at = walk_over(&y->o); at.left; walk_on(&at, &y->o)) {
        int64_t xi[FERRY_OP_AXES] = { at.i[0], at.i[1] }, k[FERRY_OP_SPATIAL] = { 0 }, mask = -1;
        double value = max ? -FLT_MAX : 0, size;

        do {
            double v;

            if (!oracle_inside(w, &x->o, &at.i[2], k, &xi[2]))
                continue;
            v = view_get(x, xi);
            if (max && v > value) {
                value = v;
                mask = oracle_in_plane(&x->o, xi);
            }
            value += max ? 0 : v;
        } while (oracle_kernel_on(w, k));
        size = max ? 1 : oracle_divisor(s->op, &x->o, at.i);
        view_set(y, at.i, size > 0 ? value / size : 0);
        if (s->op->n_out > 1)
            view_set(&s->out[1], at.i, (double)mask);
    }
}
