/* SPDX-License-Identifier: BSD-2-Clause */
/* Backward: CONVOLUTION and INNER_PRODUCT, by data, weights and bias. */
#include "common/window.h"
#include "kernels/parts.h"

#include <string.h>

#define LANES      2   /* the value that the program is compiled with */
#define LEAST      512 /* minimum number of pixels of a segment */
#define MOST_TILES 16  /* maximum number of tiles per part; if there are few groups it is smaller */

/* ---- weights -------------------------------------------------------------------------------- */

/* Divides the work into groups; the images are set. */
static int divide(struct kernel_plan *p, const struct gradient_args *g, uint32_t narrow,
                  uint32_t wide)
{
    int64_t rows_of_tile = TILE_PIXELS(p->target.vec, LANES), block = LANES * p->target.vec;
    int64_t tiles = plan_parts(g->rows, rows_of_tile), side, segments;
    struct kernel_launch *l = plan_launch(p, KERNEL_GRADIENT), *sum;
    struct gradient_args *a = &l->args.gradient;

    *a = *g;
    a->blocks = plan_parts(a->outputs, block);
    a->parts = plan_parts(tiles, MOST_TILES);
    a->tiles = plan_parts(tiles, a->parts);
    side = a->parts * a->blocks * a->groups;
    segments = plan_parts(p->target.busy, side);
    if (segments > plan_parts(a->pixels, LEAST))
        segments = plan_parts(a->pixels, LEAST);
    a->segment = plan_parts(a->pixels, segments);
    a->segments = plan_parts(a->pixels, a->segment);
    a->piece = plan_piece(p, a->groups * a->outputs * a->rows, 64);
    l->from[0] = FROM_IN(narrow);
    l->from[1] = FROM_IN(wide);
    l->from[2] = FROM_WORKSPACE;
    l->groups = side * a->segments;
    p->answer.workspace_bytes =
        (uint64_t)(l->groups * a->tiles * rows_of_tile * block) * sizeof(float);
    sum = plan_launch(p, KERNEL_GRADIENT_SUM);
    sum->args.gradient = *a;
    sum->from[0] = FROM_WORKSPACE;
    sum->from[1] = FROM_OUT(0);
    sum->groups = plan_parts(a->groups * a->outputs * a->rows, a->piece);
    return 0;
}

int plan_convolution_weights(struct kernel_plan *p)
{
    const ferry_op_window *window = &p->op.params.window;
    uint32_t wide = window->transposed ? 0 : 1;
    const ferry_operand *w = &p->op.out[0], *x = &p->op.in[wide], *y = &p->op.in[1 - wide];
    struct gradient_args a = { .groups = window->group };
    int64_t lines;

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    plan_window(window, x, y, &a.window);
    lines = a.window.images * a.window.out[0] * a.window.out[1];
    a.run = a.window.out[2];
    a.x_run = a.window.stride[2] * a.window.x[4];
    a.y_run = a.window.y[4];
    a.pixels = lines * a.run;
    a.outputs = w->shape[0] / a.groups;
    a.rows = w->shape[1] * a.window.size[0] * a.window.size[1] * a.window.size[2];
    a.x_group = w->shape[1] * a.window.x[1];
    a.y_group = a.outputs * a.window.y[1];
    a.w[0] = w->stride[0];
    a.w[1] = w->stride[1];
    a.w_group = a.outputs * a.w[0];
    ferry__widen_strides(w, 2, &a.w[2]);
    return divide(p, &a, 1 - wide, wide);
}

/*
 * Plans the gradient of an inner product's weights: images are the pixels of one line; K is a
 * channel and up to three axes of a kernel.
 */
int plan_inner_product_weights(struct kernel_plan *p)
{
    const ferry_operand *y = &p->op.in[0], *x = &p->op.in[1], *w = &p->op.out[0];
    struct gradient_args a = { .groups = 1, .rows = 1 };
    int64_t stride = w->stride[1];

    if (!plan_is_all(p, FERRY_F32) || x->rank > 2 + FERRY_OP_SPATIAL)
        return FERRY_EUNSUPPORTED;
    a.window.images = 1;
    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++) {
        a.window.in[i] = a.window.out[i] = a.window.size[i] = a.window.dilation[i] = 1;
        a.window.stride[i] = 0;
    }
    for (uint32_t axis = x->rank; axis-- > 2; stride *= x->shape[axis]) {
        uint32_t i = FERRY_OP_SPATIAL + axis - x->rank;

        a.window.in[i] = a.window.size[i] = x->shape[axis];
        a.window.x[2 + i] = x->stride[axis];
        a.w[2 + i] = stride;
        a.rows *= x->shape[axis];
    }
    if (x->rank > 1) {
        a.rows *= x->shape[1];
        a.window.x[1] = x->stride[1];
        a.w[1] = stride;
    }
    a.window.y[1] = y->stride[1];
    a.w[0] = w->stride[0];
    a.outputs = w->shape[0];
    a.pixels = a.run = x->shape[0];
    a.x_run = x->stride[0];
    a.y_run = y->stride[0];
    return divide(p, &a, 0, 1);
}

/* ---- data ----------------------------------------------------------------------------------- */

/* Plans the gradient of a convolution's data, which is a transposed convolution of dy. */
int plan_convolution_data(struct kernel_plan *p)
{
    p->op.params.window.transposed = !p->op.params.window.transposed;
    return plan_convolution(p);
}

/* Whether the axes from 1 on can be merged into one, and its stride. */
static bool is_one_axis(const ferry_operand *o, int64_t *out_stride)
{
    int64_t stride = 0, next = 0;

    for (uint32_t i = o->rank; i-- > 1;) {
        if (o->shape[i] == 1)
            continue;
        if (next && o->stride[i] != next)
            return false;
        if (!next)
            stride = o->stride[i];
        next = o->stride[i] * o->shape[i];
    }
    *out_stride = stride;
    return true;
}

static ferry_operand matrix(int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    ferry_operand o = {
        .dtype = FERRY_F32, .rank = 3, .shape = { 1, rows, columns }, .stride = { 0, row, column }
    };

    return o;
}

/* Plans dy (M, N) times w (N, K) as a product of matrices. */
static int by_matrices(struct kernel_plan *p, int64_t stride)
{
    ferry_operand dy = p->op.in[0], w = p->op.in[1], dx = p->op.out[0];

    p->op.in[0] = matrix(dy.shape[0], dy.shape[1], dy.stride[0], dy.stride[1]);
    p->op.in[1] = matrix(w.shape[0], w.shape[1], w.stride[0], w.stride[1]);
    p->op.out[0] = matrix(dx.shape[0], w.shape[1], dx.stride[0], stride);
    p->op.params.gemm.alpha = 1;
    p->op.params.gemm.beta = 0;
    return plan_batched_gemm(p);
}

/*
 * Plans it as a transposed convolution from one pixel to all, for a K whose axes cannot be merged.
 */
static int by_places(struct kernel_plan *p)
{
    ferry_operand *dy = &p->op.in[0], *w = &p->op.in[1];
    const ferry_operand *dx = &p->op.out[0];
    int64_t stride = w->stride[1];
    ferry_op_window *window = &p->op.params.window;

    if (dx->rank > 2 + FERRY_OP_SPATIAL)
        return FERRY_EUNSUPPORTED;
    memset(window, 0, sizeof(*window));
    window->axes = dx->rank - 2;
    window->group = window->transposed = 1;
    for (uint32_t axis = dx->rank; axis-- > 2; stride *= dx->shape[axis]) {
        window->kernel[axis - 2] = dx->shape[axis];
        window->stride[axis - 2] = window->dilation[axis - 2] = 1;
        w->shape[axis] = dx->shape[axis];
        w->stride[axis] = stride;
        dy->shape[axis] = 1;
        dy->stride[axis] = 0;
    }
    w->shape[1] = dx->shape[1];
    w->stride[1] = stride;
    w->rank = dy->rank = dx->rank;
    return plan_direct(p);
}

int plan_inner_product_data(struct kernel_plan *p)
{
    int64_t stride;

    if (!plan_is_all(p, FERRY_F32))
        return FERRY_EUNSUPPORTED;
    return is_one_axis(&p->op.out[0], &stride) ? by_matrices(p, stride) : by_places(p);
}
