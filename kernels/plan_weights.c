/* SPDX-License-Identifier: BSD-2-Clause */
/* The other operands of convolutions: weights, bias, the steps of an epilogue. */
#include "common/window.h"
#include "kernels/parts.h"

#include <string.h>

/* ---- constants ------------------------------------------------------------------------------ */

/* A hash of all numbers that determine the packed layout (FNV-1a, by words). */
static uint64_t packed_key(const struct pack_args *a)
{
    uint64_t word[sizeof(*a) / sizeof(uint64_t)], key = UINT64_C(14695981039346656037);

    memcpy(word, a, sizeof(word));
    for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
        key = (key ^ word[i]) * UINT64_C(1099511628211);
    return key ? key : 1;
}

void plan_pack(struct kernel_plan *p, const struct convolution_args *c, int64_t lanes,
               const struct plan_weights *w, struct kernel_launch *user)
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
    a->lanes = lanes;
    a->group = w->group;
    a->output = w->output;
    a->channel = w->channel;
    a->first = w->first;
    a->scale = (float)w->scale;
    l->from[0] = FROM_IN(1);
    l->groups = a->groups * a->blocks * a->taps;
    bytes = (uint64_t)(l->groups * a->channels * a->lanes) * sizeof(float);
    if (p->op.constants >> 1 & 1u) {
        p->answer.packed_inputs = 2;
        p->answer.packed_bytes = bytes;
        p->answer.packed_key = packed_key(a);
        l->from[1] = user->from[1] = FROM_PACKED;
        p->pack = *l;
        p->launches--;
    } else {
        p->answer.workspace_bytes = bytes;
        l->from[1] = user->from[1] = FROM_WORKSPACE;
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

bool plan_bind(struct kernel_launch *l, uint32_t input, struct step *s)
{
    for (int32_t i = 3; i < BUFFERS; i++)
        if (l->from[i] == FROM_NOTHING || l->from[i] == FROM_IN(input)) {
            l->from[i] = FROM_IN(input);
            s->buffer = i;
            return true;
        }
    return false;
}

/* Sets strides for an operand with one element per channel. */
static void per_channel(const struct convolution_args *c, const ferry_operand *o, struct step *s)
{
    s->channel = o->shape[0] == 1 ? 0 : o->stride[0];
    s->group = c->outputs * s->channel;
}

/* Adds the bias as a shift. */
void plan_bias(struct kernel_plan *p, struct kernel_launch *l)
{
    struct convolution_args *c = &l->args.convolution;
    struct step *s = &c->step[c->steps];

    if (p->own_in < 3)
        return;
    s->step = FERRY_STEP_SHIFT;
    s->scale = 1;
    per_channel(c, &p->op.in[2], s);
    (void)plan_bind(l, 2, s);
    c->steps++;
}

/* Adds as many steps of the epilogue as there are buffers, with a convolution's strides. */
void plan_steps(struct kernel_plan *p, struct kernel_launch *l)
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
            (from->step == FERRY_STEP_UNARY && from->function >= FERRY_UNARY_COUNT) ||
            (from->step != FERRY_STEP_UNARY && !plan_bind(l, from->operand, s)))
            break;
        if (from->step == FERRY_STEP_ADD) {
            s->image = o->stride[0];
            s->channel = o->stride[1];
            s->group = c->outputs * s->channel;
            ferry__widen_strides(o, 2, s->spatial);
        } else if (from->step != FERRY_STEP_UNARY) {
            per_channel(c, o, s);
        }
        c->steps++;
    }
}
