/* SPDX-License-Identifier: BSD-2-Clause */
/* Convolutions that are not computed as products: depthwise, or transposed. */
#include "common/window.h"
#include "kernels/parts.h"

#define LEAST      16   /* minimum number of elements per item */
#define LEAST_WORK 8192 /* vector multiplications per item, in rows of pixels */

#define LEAST_RUN 8 /* minimum number of pixels along a line, unless the line is shorter */

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

/* Plans `depthwise`, with the weights as one block of all channels. */
static struct kernel_launch *by_channels(struct kernel_plan *p, struct convolution_args *c)
{
    const ferry_operand *w = &p->op.in[1];
    struct plan_weights weights = { .output = w->stride[0], .scale = 1, .is_shared = true };
    struct kernel_launch l = { .kernel = KERNEL_DEPTHWISE, .size = sizeof(*c) };

    ferry__widen_strides(w, 2, weights.tap);
    l.from[0] = FROM_IN(0);
    l.from[2] = FROM_OUT(0);
    c->outputs = c->window.channels;
    c->blocks = c->pixel_groups = 1;
    l.args.convolution = *c;
    plan_pack(p, c, c->outputs, &weights, &l);
    p->launch[p->launches] = l;
    return &p->launch[p->launches++];
}

/*
 * Whether `slide` can compute it: a kernel of 3 × 3, followed by at most a bias and one bound or
 * slope.
 */
static bool can_slide(const struct kernel_plan *p, const struct convolution_args *a)
{
    const struct window *w = &a->window;
    int64_t k = a->steps > 0 && a->step[0].step == FERRY_STEP_SHIFT && a->step[0].channel == 1;
    const struct step *last = &a->step[k];

    if (w->size[0] != 1 || w->pad[0] != 0 || w->channels % p->target.vec != 0)
        return false;
    for (int i = 1; i < 3; i++)
        if (w->size[i] != 3 || w->dilation[i] != 1)
            return false;
    return w->stride[2] <= 2 &&
           (a->steps == k ||
            (a->steps == k + 1 && last->step == FERRY_STEP_UNARY &&
             (last->function == FERRY_UNARY_RELU || last->function == FERRY_UNARY_CLIP)));
}

/*
 * The minimum work per item: starting an item has a cost on a CPU, while other devices profit from
 * many items.
 */
static int64_t least_of(const struct kernel_plan *p, int64_t work)
{
    return p->target.group > 1 ? 1 : plan_parts(LEAST_WORK, work);
}

/*
 * Two lines at once share their inputs if there is enough work; with too little work, lines are
 * split.
 */
static void divide_slide(struct kernel_plan *p, struct kernel_launch *l)
{
    struct convolution_args *a = &l->args.convolution;
    const struct window *w = &a->window;
    int64_t wanted = (int64_t)p->target.busy * p->target.group;
    int64_t across = w->images * w->out[0] * w->channels / p->target.vec, vectors;

    l->kernel = KERNEL_SLIDE;
    a->run = w->out[2];
    a->lines = w->stride[1] == 1 && w->stride[2] == 1 && across * plan_parts(w->out[1], 2) >= wanted
                   ? 2
                   : 1;
    vectors = across * plan_parts(w->out[1], a->lines);
    while (a->run > LEAST_RUN && vectors * plan_parts(w->out[2], a->run) < wanted)
        a->run = plan_parts(a->run, 2);
    divide(p, l, vectors * plan_parts(w->out[2], a->run), least_of(p, 9 * a->run * a->lines));
}

/*
 * On a CPU an item computes all channels of a row; on other devices adjacent items compute adjacent
 * ones.
 */
static void divide_rows(struct kernel_plan *p, struct kernel_launch *l)
{
    struct convolution_args *a = &l->args.convolution;
    const struct window *w = &a->window;
    int64_t rows = w->images * w->out[0] * w->out[1] * plan_parts(w->out[2], ROW_PIXELS);
    int64_t vec = p->target.vec, taps = w->size[0] * w->size[1] * w->size[2];

    a->run = p->target.group > 1 ? vec : plan_parts(w->channels, vec) * vec;
    divide(p, l, rows * plan_parts(w->channels, a->run),
           least_of(p, taps * ROW_PIXELS * a->run / vec));
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
        l = by_channels(p, &c);
    } else {
        c.blocks = window->group;
        c.x_group = c.channels * c.window.x[1];
        c.w[0] = w->stride[o];
        c.w[1] = w->stride[1 - o];
        ferry__widen_strides(w, 2, &c.w[2]);
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
    if (l->kernel == KERNEL_DEPTHWISE && can_slide(p, &l->args.convolution))
        divide_slide(p, l);
    else if (l->kernel == KERNEL_DEPTHWISE)
        divide_rows(p, l);
    return 0;
}
