/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CONVOLUTION; INNER_PRODUCT, as a convolution with a kernel as large as the image; BATCHED_GEMM,
 * with rows as pixels and batches as groups.
 */
#include "common/window.h"
#include "kernels/parts.h"

#include <string.h>

#define TILE_WORK 65536 /* minimum number of vector multiplications per group */

/* ---- outputs per block ---------------------------------------------------------------------- */

/*
 * Selects the cheapest of 1, 2 and 4 vectors: fewer vectors are less efficient, and lanes beyond
 * the outputs are wasted.
 */
static uint32_t kernel_for(const struct kernel_target *t, int64_t outputs, uint32_t *out_lanes)
{
    static const int64_t cost[] = { 20, 14, 13 };
    uint32_t best = 0, most = t->vec >= 16 ? 3 : 2;

    for (uint32_t i = 1; i < most; i++) {
        int64_t now = plan_parts(outputs, (int64_t)t->vec << best) * cost[best] << best;

        if (plan_parts(outputs, (int64_t)t->vec << i) * cost[i] << i <= now)
            best = i;
    }
    *out_lanes = 1u << best;
    return KERNEL_CONVOLVE_1 + best;
}

/* ---- the launch ----------------------------------------------------------------------------- */

/* Divides the work into groups and tiles; window, channels and outputs are set. */
static struct kernel_launch *divide(struct kernel_plan *p, const struct convolution_args *c,
                                    int64_t groups, const struct plan_weights *w)
{
    const struct window *v = &c->window;
    int64_t taps = v->size[0] * v->size[1] * v->size[2], vec = p->target.vec, tiles, least;
    uint32_t lanes, kernel = kernel_for(&p->target, c->outputs, &lanes);
    struct kernel_launch l = { .kernel = kernel, .size = sizeof(*c) };
    struct convolution_args *a = &l.args.convolution;

    *a = *c;
    l.from[0] = FROM_IN(0);
    l.from[2] = FROM_OUT(0);
    a->pixels = v->images * v->out[0] * v->out[1] * v->out[2];
    a->blocks = plan_parts(a->outputs, lanes * vec);
    a->w_group = w->is_shared ? 0 : a->blocks * taps * a->channels * lanes * vec;
    tiles = plan_parts(a->pixels, (int64_t)p->target.group * TILE_PIXELS(vec, lanes));
    least = plan_parts(TILE_WORK, taps * a->channels * TILE_PIXELS(vec, lanes) * lanes + 64);
    a->tiles = plan_parts(tiles * a->blocks * groups, p->target.busy);
    a->tiles = a->tiles < least ? a->tiles : least;
    a->tiles = a->tiles < 1 ? 1 : a->tiles;
    a->pixel_groups = plan_parts(tiles, a->tiles);
    l.groups = a->pixel_groups * a->blocks * groups;
    plan_pack(p, a, lanes * p->target.vec, w, &l);
    p->launch[p->launches] = l;
    return &p->launch[p->launches++];
}

/* The launch with its bias and steps, or that of halves. */
static int launch(struct kernel_plan *p, const struct convolution_args *c, int64_t groups,
                  const struct plan_weights *w)
{
    struct kernel_launch *l;

    if (p->op.in[0].dtype != FERRY_F32)
        return plan_tensor(p, c, groups, w);
    l = divide(p, c, groups, w);
    plan_bias(p, l);
    plan_steps(p, l);
    return 0;
}

/* A transposed convolution without strides is a convolution with a flipped kernel. */
static bool is_turned(const ferry_op_window *window, const ferry_operand *w)
{
    bool turned = window->transposed && (w->shape[1] > 1 || window->group == 1);

    for (uint32_t i = 0; i < window->axes; i++)
        turned = turned && window->stride[i] == 1;
    return turned;
}

/* The weights to pack, flipped or not. Flipping changes the padding of the window too. */
static struct plan_weights weights_of(const ferry_operand *w, struct convolution_args *c,
                                      bool turned)
{
    struct plan_weights weights = { .output = w->stride[turned],
                                    .channel = w->stride[!turned],
                                    .scale = 1 };

    weights.group = (turned ? c->channels : c->outputs) * w->stride[0];
    ferry__widen_strides(w, 2, weights.tap);
    for (int i = 0; turned && i < 3; i++) {
        c->window.pad[i] = (c->window.size[i] - 1) * c->window.dilation[i] - c->window.pad[i];
        weights.first += (c->window.size[i] - 1) * weights.tap[i];
        weights.tap[i] = -weights.tap[i];
    }
    return weights;
}

int plan_convolution(struct kernel_plan *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const ferry_operand *w = &p->op.in[1];
    struct convolution_args c = { .steps = 0 };
    struct plan_weights weights;
    bool turned = is_turned(window, w);

    if (!plan_is_product(p))
        return FERRY_EUNSUPPORTED;
    plan_prefer_channels_last(p);
    if ((window->transposed && !turned) || (w->shape[1] == 1 && window->group > 1))
        return p->op.in[0].dtype == FERRY_F32 ? plan_direct(p) : FERRY_EUNSUPPORTED;
    plan_window(window, &p->op.in[0], &p->op.out[0], &c.window);
    c.channels = turned ? w->shape[0] / window->group : w->shape[1];
    c.outputs = turned ? w->shape[1] : w->shape[0] / window->group;
    c.x_group = c.channels * c.window.x[1];
    c.y_group = c.outputs * c.window.y[1];
    weights = weights_of(w, &c, turned);
    return launch(p, &c, window->group, &weights);
}

/* Strides of w (N, K) as if K were the axes of x from the second on, at most four. */
int plan_inner_product(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0], *w = &p->op.in[1], *y = &p->op.out[0];
    struct convolution_args c = { .channels = 1, .outputs = w->shape[0] };
    struct plan_weights weights = { .output = w->stride[0], .channel = w->stride[1], .scale = 1 };
    int64_t stride = w->stride[1];

    if (!plan_is_product(p) || x->rank > 2 + FERRY_OP_SPATIAL)
        return FERRY_EUNSUPPORTED;
    c.window.images = x->shape[0];
    c.window.x[0] = x->stride[0];
    c.window.y[0] = y->stride[0];
    c.window.y[1] = y->stride[1];
    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++)
        c.window.in[i] = c.window.out[i] = c.window.size[i] = c.window.stride[i] =
            c.window.dilation[i] = 1;
    for (uint32_t axis = x->rank; axis-- > 2; stride *= x->shape[axis]) {
        uint32_t i = FERRY_OP_SPATIAL + axis - x->rank;

        c.window.in[i] = c.window.size[i] = x->shape[axis];
        c.window.x[2 + i] = x->stride[axis];
        weights.tap[i] = stride;
    }
    if (x->rank > 1) {
        c.channels = x->shape[1];
        c.window.x[1] = x->stride[1];
        weights.channel = stride;
    }
    return launch(p, &c, 1, &weights);
}

int plan_batched_gemm(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0], *b = &p->op.in[1], *y = &p->op.out[0];
    struct convolution_args c = { .channels = x->shape[2], .outputs = y->shape[2] };
    struct plan_weights weights = { .group = b->stride[0],
                                    .channel = b->stride[1],
                                    .output = b->stride[2],
                                    .scale = p->op.params.gemm.alpha,
                                    .is_shared = b->shape[0] == 1 };
    struct kernel_launch *l;

    if (!plan_is_product(p))
        return FERRY_EUNSUPPORTED;
    for (uint32_t i = 0; i < FERRY_OP_SPATIAL; i++)
        c.window.in[i] = c.window.out[i] = c.window.size[i] = c.window.stride[i] =
            c.window.dilation[i] = 1;
    c.window.images = y->shape[1];
    c.window.x[0] = x->stride[1];
    c.window.x[1] = x->stride[2];
    c.window.y[0] = y->stride[1];
    c.window.y[1] = y->stride[2];
    c.x_group = x->stride[0];
    c.y_group = y->stride[0];
    if (x->dtype != FERRY_F32)
        return plan_tensor(p, &c, y->shape[0], &weights);
    l = divide(p, &c, y->shape[0], &weights);
    if (p->own_in > 2 && p->op.params.gemm.beta != 0) {
        struct convolution_args *a = &l->args.convolution;
        const ferry_operand *add = &p->op.in[2];
        struct step *s = &a->step[a->steps++];

        *s = (struct step){ .step = FERRY_STEP_ADD, .scale = (float)p->op.params.gemm.beta };
        s->group = add->stride[0];
        s->image = add->stride[1];
        s->channel = add->stride[2];
        (void)plan_bind(l, 2, s);
    }
    return 0;
}
