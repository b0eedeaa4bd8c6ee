/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CONVOLUTION; INNER_PRODUCT, a convolution with a kernel as large as the image; BATCHED_GEMM, whose
 * rows are pixels and whose batches are groups.
 */
#include "kernels/parts.h"

#include <string.h>

#define TILE_WORK 65536 /* multiplications of vectors that a group does at least */

/* Weights as they are given. */
struct weights {
    int64_t group, output, channel, tap[3]; /* strides */
    double scale;
    bool is_shared; /* by all groups */
};

/* ---- outputs to a block --------------------------------------------------------------------- */

/* Of 1, 2, 4 vectors the number that costs least: few are dear, and so are those beyond the outputs. */
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

/* ---- constants ------------------------------------------------------------------------------ */

/* Of what decides how constants lie when they are packed (FNV-1a, by words). */
static uint64_t packed_key(const struct kernel_plan *p, const struct pack_args *a)
{
    const ferry_operand *o = &p->op.in[1];
    uint64_t word[FERRY_OP_AXES + 6] = { p->op.kind,          o->rank,
                                         (uint64_t)a->lanes,  (uint64_t)a->groups,
                                         (uint64_t)a->blocks, (uint64_t)a->taps };
    uint64_t key = UINT64_C(14695981039346656037);
    uint32_t scale;

    memcpy(&scale, &a->scale, sizeof(scale));
    for (uint32_t i = 0; i < o->rank; i++)
        word[6 + i] = (uint64_t)o->shape[i] ^ (uint64_t)o->stride[i] << 32;
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
        key = (key ^ word[i]) * UINT64_C(1099511628211);
    key = (key ^ scale) * UINT64_C(1099511628211);
    return key ? key : 1;
}

/* Packs in[1]: once where it is a constant, else before each run, in the workspace. */
static void add_pack(struct kernel_plan *p, const struct convolution_args *c, uint32_t lanes,
                     const struct weights *w, struct kernel_launch *user)
{
    struct kernel_launch *l = plan_launch(p, KERNEL_PACK);
    struct pack_args *a = &l->args.pack;
    uint64_t bytes;

    a->groups = w->is_shared ? 1 : user->groups / c->pixel_groups / c->blocks;
    a->blocks = c->blocks;
    a->taps = 1;
    for (int i = 0; i < 3; i++) {
        a->size[i] = c->window.size[i];
        a->tap[i] = w->tap[i];
        a->taps *= c->window.size[i];
    }
    a->channels = c->channels;
    a->outputs = c->outputs;
    a->lanes = lanes * p->target.vec;
    a->group = w->group;
    a->output = w->output;
    a->channel = w->channel;
    a->scale = (float)w->scale;
    l->from[0] = FROM_IN(1);
    l->groups = a->groups * a->blocks * a->taps;
    bytes = (uint64_t)(l->groups * a->channels * a->lanes) * sizeof(float);
    if (p->op.constants >> 1 & 1u) {
        p->answer.packed_inputs = 2;
        p->answer.packed_bytes = bytes;
        p->answer.packed_key = packed_key(p, a);
        l->from[1] = user->from[1] = FROM_PACKED;
        p->pack = *l;
        p->launches--;
    } else {
        p->answer.workspace_bytes = bytes;
        l->from[1] = user->from[1] = FROM_WORKSPACE;
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* An operand of a step gets a buffer; false: there is none left. */
static bool bind(struct kernel_launch *l, uint32_t input, struct step *s)
{
    for (int32_t i = 3; i < BUFFERS; i++)
        if (l->from[i] == FROM_NOTHING || l->from[i] == FROM_IN(input)) {
            l->from[i] = FROM_IN(input);
            s->buffer = i;
            return true;
        }
    return false;
}

/* One element for each channel. */
static void per_channel(const struct convolution_args *c, const ferry_operand *o, struct step *s)
{
    s->channel = o->shape[0] == 1 ? 0 : o->stride[0];
    s->group = c->outputs * s->channel;
}

/* The bias, which is a shift. */
static void add_bias(struct kernel_plan *p, struct kernel_launch *l)
{
    struct convolution_args *c = &l->args.convolution;
    struct step *s = &c->step[c->steps];

    if (p->own_in < 3)
        return;
    s->step = FERRY_STEP_SHIFT;
    s->scale = 1;
    per_channel(c, &p->op.in[2], s);
    (void)bind(l, 2, s);
    c->steps++;
}

/* As many steps of the epilogue as there are buffers for; with a convolution's strides. */
static void add_steps(struct kernel_plan *p, struct kernel_launch *l)
{
    struct convolution_args *c = &l->args.convolution;

    for (; p->answer.epilogue < p->op.n_epilogue && c->steps < STEPS; p->answer.epilogue++) {
        const ferry_op_step *from = &p->op.epilogue[p->answer.epilogue];
        const ferry_operand *o = &p->op.in[from->operand];
        struct step *s = &c->step[c->steps];

        *s = (struct step){ .step = (int32_t)from->step, .function = (int32_t)from->function };
        s->a = (float)from->a;
        s->b = (float)from->b;
        s->c = (float)from->c;
        s->scale = 1;
        if (from->step > FERRY_STEP_PRELU ||
            (from->step == FERRY_STEP_UNARY && from->function > FERRY_UNARY_SWISH) ||
            (from->step != FERRY_STEP_UNARY && !bind(l, from->operand, s)))
            break;
        if (from->step == FERRY_STEP_ADD) {
            s->image = o->stride[0];
            s->channel = o->stride[1];
            s->group = c->outputs * s->channel;
            plan_spatial(o, 2, s->spatial);
        } else if (from->step != FERRY_STEP_UNARY) {
            per_channel(c, o, s);
        }
        c->steps++;
    }
}

/* ---- the launch ----------------------------------------------------------------------------- */

/* Divides the work; window, channels, outputs are there. */
static struct kernel_launch *divide(struct kernel_plan *p, const struct convolution_args *c,
                                    int64_t groups, const struct weights *w)
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
    add_pack(p, a, lanes, w, &l);
    p->launch[p->launches] = l;
    return &p->launch[p->launches++];
}

int plan_convolution(struct kernel_plan *p)
{
    const ferry_op_window *window = &p->op.params.window;
    const ferry_operand *w = &p->op.in[1];
    struct convolution_args c = { .steps = 0 };
    struct weights weights = { .output = w->stride[0], .channel = w->stride[1], .scale = 1 };
    struct kernel_launch *l;

    if (!plan_is_all(p, FERRY_F32) || window->transposed)
        return FERRY_EUNSUPPORTED;
    plan_window(window, &p->op.in[0], &p->op.out[0], &c.window);
    c.channels = w->shape[1];
    c.outputs = w->shape[0] / window->group;
    c.x_group = c.channels * c.window.x[1];
    c.y_group = c.outputs * c.window.y[1];
    weights.group = c.outputs * weights.output;
    plan_spatial(w, 2, weights.tap);
    l = divide(p, &c, window->group, &weights);
    add_bias(p, l);
    add_steps(p, l);
    plan_prefer_channels_last(p);
    return 0;
}

/* Strides of w (N, K) as if K were the axes of x behind the first, which are at most four. */
int plan_inner_product(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0], *w = &p->op.in[1], *y = &p->op.out[0];
    struct convolution_args c = { .channels = 1, .outputs = w->shape[0] };
    struct weights weights = { .output = w->stride[0], .channel = w->stride[1], .scale = 1 };
    struct kernel_launch *l;
    int64_t stride = w->stride[1];

    if (!plan_is_all(p, FERRY_F32) || x->rank > 2 + FERRY_OP_SPATIAL)
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
    l = divide(p, &c, 1, &weights);
    add_bias(p, l);
    add_steps(p, l);
    return 0;
}

int plan_gemm(struct kernel_plan *p)
{
    const ferry_operand *x = &p->op.in[0], *b = &p->op.in[1], *y = &p->op.out[0];
    struct convolution_args c = { .channels = x->shape[2], .outputs = y->shape[2] };
    struct weights weights = { .group = b->stride[0],
                               .channel = b->stride[1],
                               .output = b->stride[2],
                               .scale = p->op.params.gemm.alpha,
                               .is_shared = b->shape[0] == 1 };
    struct kernel_launch *l;

    if (!plan_is_all(p, FERRY_F32))
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
    l = divide(p, &c, y->shape[0], &weights);
    if (p->own_in > 2 && p->op.params.gemm.beta != 0) {
        struct convolution_args *a = &l->args.convolution;
        const ferry_operand *add = &p->op.in[2];
        struct step *s = &a->step[a->steps++];

        *s = (struct step){ .step = FERRY_STEP_ADD, .scale = (float)p->op.params.gemm.beta };
        s->group = add->stride[0];
        s->image = add->stride[1];
        s->channel = add->stride[2];
        (void)bind(l, 2, s);
    }
    return 0;
}
