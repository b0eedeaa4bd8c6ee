/* SPDX-License-Identifier: BSD-2-Clause */
/* Convolutions that are no products: each channel by itself, or transposed. */
#include "kernels/parts.h"

#define LEAST      16   /* elements that an item does at least */
#define LEAST_WORK 8192 /* multiplications of vectors that it does, in rows of pixels */

static bool is_depthwise(const struct kernel_plan *p, const struct convolution_args *c)
{
    return !p->op.params.window.transposed && c->outputs == 1 && c->channels == 1 &&
           c->window.x[1] == 1 && c->window.y[1] == 1;
}

static void divide(struct kernel_plan *p, struct kernel_launch *l, int64_t all, int64_t least)
{
    struct convolution_args *a = &l->args.convolution;

    a->tiles = plan_piece(p, all, least) / p->target.group;
    l->groups = plan_parts(all, a->tiles * p->target.group);
}

/* Weights as one block of all channels. */
static void by_channels(struct kernel_plan *p, struct convolution_args *c)
{
    const ferry_operand *w = &p->op.in[1];
    struct plan_weights weights = { .output = w->stride[0], .scale = 1, .is_shared = true };
    struct kernel_launch l = { .kernel = KERNEL_DEPTHWISE, .size = sizeof(*c) };
    const struct window *v = &c->window;
    int64_t work =
        v->size[0] * v->size[1] * v->size[2] * ROW_PIXELS * plan_parts(v->channels, p->target.vec);

    plan_spatial(w, 2, weights.tap);
    l.from[0] = FROM_IN(0);
    l.from[2] = FROM_OUT(0);
    c->outputs = v->channels;
    c->blocks = c->pixel_groups = 1;
    l.args.convolution = *c;
    plan_pack(p, c, v->channels, &weights, &l);
    p->launch[p->launches] = l;
    divide(p, &p->launch[p->launches],
           v->images * v->out[0] * v->out[1] * plan_parts(v->out[2], ROW_PIXELS),
           plan_parts(LEAST_WORK, work));
}

int plan_direct(struct kernel_plan *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const ferry_operand *w = &p->op.in[1];
    struct convolution_args c = { .is_transposed = window->transposed };
    struct kernel_launch *l;
    uint32_t o = window->transposed ? 1 : 0;

    plan_window(window, &p->op.in[0], &p->op.out[0], &c.window);
    c.channels = window->transposed ? w->shape[0] / window->group : w->shape[1];
    c.outputs = window->transposed ? w->shape[1] : w->shape[0] / window->group;
    c.pixels = c.window.images * c.window.out[0] * c.window.out[1] * c.window.out[2];
    if (is_depthwise(p, &c)) {
        by_channels(p, &c);
        l = &p->launch[p->launches++];
    } else {
        c.blocks = window->group;
        c.x_group = c.channels * c.window.x[1];
        c.w[0] = w->stride[o];
        c.w[1] = w->stride[1 - o];
        plan_spatial(w, 2, &c.w[2]);
        c.w_group = window->transposed ? c.channels * c.w[1] : c.outputs * c.w[0];
        c.last = c.window.y[1] == 1;
        l = plan_launch(p, KERNEL_DIRECT);
        l->args.convolution = c;
        l->from[0] = FROM_IN(0);
        l->from[1] = FROM_IN(1);
        l->from[2] = FROM_OUT(0);
        divide(p, l, c.pixels * c.outputs * c.blocks, LEAST);
    }
    plan_bias(p, l);
    plan_steps(p, l);
    return 0;
}
