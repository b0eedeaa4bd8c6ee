/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes only the positions of a convolution that are read. Where all readers of its output are
 * convolutions of 1 × 1 with the same strides, as after each stage of ResNet, their strides become
 * those of the convolution that writes it. An operand that it adds is read at these positions.
 */
#include "net/passes/passes.h"

#include <ferry/op.h>

static bool is_convolution(const struct ferry__item *item)
{
    return !item->call && !item->dropped && item->op.kind == FERRY_OP_CONVOLUTION &&
           item->op.pass == FERRY_PASS_FORWARD && !item->op.params.window.transposed;
}

/* Whether a value may have another shape than its blob; it has few users. */
static bool is_inner(const struct ferry__value *v)
{
    return v->end - v->first <= FERRY__REACH && !v->pinned && !v->own && !v->seen &&
           v->within < 0 && v->rank > 2 && v->count > 0;
}

/* Whether a convolution reads one element of each channel for a position, and nothing else. */
static bool is_pointwise(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    const ferry_op_window *w = &item->op.params.window;
    uint32_t i;

    if (!is_convolution(item) || item->in[0].value != value || item->claim ||
        !ferry__is_whole(p, &item->op.in[0], &item->in[0]) ||
        (int)w->axes + 2 != p->values[value].rank)
        return false;
    for (i = 1; i < item->op.n_in; i++)
        if (item->in[i].value == value)
            return false;
    for (i = 0; i < w->axes; i++)
        if (w->kernel[i] != 1 || w->pad[i] || w->pad_end[i])
            return false;
    return true;
}

/*
 * Whether all items from `at` on that use a value are such convolutions with the same strides, of
 * which one at least is not 1, and no item before writes it; *out is the first of them.
 */
static bool is_read_sparsely(const struct ferry__program *p, int at, int value,
                             const struct ferry__item **out)
{
    const ferry_op_window *first;
    uint32_t k;
    int i;

    *out = NULL;
    for (i = p->values[value].first; i <= p->values[value].end; i++) {
        const struct ferry__item *item = &p->items[i];

        if (i == at || !ferry__item_uses(p, item, value))
            continue;
        if (i < at || !is_pointwise(p, item, value))
            return false;
        *out = *out ? *out : item;
        for (k = 0; k < item->op.params.window.axes; k++)
            if (item->op.params.window.stride[k] != (*out)->op.params.window.stride[k])
                return false;
    }
    if (!*out)
        return false;
    first = &(*out)->op.params.window;
    for (k = 0; k < first->axes; k++)
        if (first->stride[k] > 1)
            return true;
    return false;
}

/* Whether the item can write every n-th position: each value that it adds has the shape of y. */
static bool can_skip(const struct ferry__program *p, const struct ferry__item *item)
{
    const ferry_operand *y = &item->op.out[0];
    uint32_t i, k;

    if (!ferry__is_whole(p, y, &item->out[0]) || item->op.n_out != 1 || item->back ||
        p->values[item->out[0].value].rank != (int)y->rank)
        return false;
    for (i = 0; i < item->op.n_epilogue; i++) {
        const ferry_op_step *s = &item->op.epilogue[i];
        const ferry_operand *o = &item->op.in[s->operand];

        if (s->step != FERRY_STEP_ADD)
            continue;
        if (o->rank != y->rank || item->in[s->operand].value < 0 ||
            item->in[s->operand].value == item->out[0].value ||
            !ferry__is_whole(p, o, &item->in[s->operand]))
            return false;
        for (k = 0; k < y->rank; k++)
            if (o->shape[k] != y->shape[k])
                return false;
    }
    return true;
}

/* Gives an operand every n-th position, without moving the elements of what remains. */
static void thin(ferry_operand *o, const ferry_op_window *w)
{
    uint32_t i;

    for (i = 0; i < w->axes; i++) {
        o->shape[2 + i] = (o->shape[2 + i] - 1) / w->stride[i] + 1;
        o->stride[2 + i] *= w->stride[i];
    }
}

/* The writer's operation with strides multiplied by those of its readers. */
static void skip(const struct ferry__item *item, const ferry_op_window *w, ferry_op_desc *out)
{
    uint32_t i;

    *out = item->op;
    for (i = 0; i < w->axes; i++)
        out->params.window.stride[i] *= w->stride[i];
    for (i = 0; i < out->n_epilogue; i++)
        if (out->epilogue[i].step == FERRY_STEP_ADD)
            thin(&out->in[out->epilogue[i].operand], w);
    thin(&out->out[0], w);
    out->out[0] = ferry_operand_make((ferry_dtype)out->out[0].dtype, out->out[0].shape,
                                     (int)out->out[0].rank, NULL);
}

/* Makes the readers of a value read all of it. */
static int read_all(struct ferry__program *p, int value, const ferry_operand *y)
{
    struct ferry__value *v = &p->values[value];
    uint32_t k;
    int i, err = 0;

    v->count = 1;
    for (k = 0; k < y->rank; k++) {
        v->shape[k] = y->shape[k];
        v->count *= y->shape[k];
    }
    for (i = v->first; !err && i <= v->end; i++) {
        struct ferry__item *item = &p->items[i];

        if (!is_convolution(item) || item->in[0].value != value)
            continue;
        item->op.in[0] = ferry_operand_make((ferry_dtype)y->dtype, y->shape, (int)y->rank, NULL);
        for (k = 0; k < item->op.params.window.axes; k++)
            item->op.params.window.stride[k] = 1;
        err = ferry__item_choose(p, item);
    }
    return err;
}

/* Whether the products of the strides are strides. */
static bool can_multiply(const struct ferry__item *item, const ferry_op_window *w)
{
    uint32_t i;

    for (i = 0; i < w->axes; i++)
        if (item->op.params.window.stride[i] > INT32_MAX / w->stride[i])
            return false;
    return true;
}

/* Moves the strides of the readers of what item `at` writes into it, if the device runs that. */
static int try_item(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    const struct ferry__item *reader;
    ferry_operation_plan plan = { 0 };
    ferry_op_desc op;
    int value, err;

    if (!is_convolution(item) || item->claim)
        return 0;
    value = item->out[0].value;
    if (value < 0 || !is_inner(&p->values[value]) || !can_skip(p, item) ||
        !is_read_sparsely(p, at, value, &reader) ||
        !can_multiply(item, &reader->op.params.window))
        return 0;
    skip(item, &reader->op.params.window, &op);
    err = ferry__item_query(item, &op, &plan);
    if (err || plan.tier > item->tier || plan.steps > item->steps)
        return err;
    item->op = op;
    err = ferry__item_choose(p, item);
    return err ? err : read_all(p, value, &op.out[0]);
}

/* From the last item on, since the strides of a convolution of 1 × 1 can move further. */
int ferry__pass_positions(struct ferry__program *p)
{
    const ferry_net *net = p->net;
    int i, err = 0;

    if (!net->plan || !net->fuse || net->backward || p->claims)
        return 0;
    ferry__program_find_users(p);
    for (i = p->n_items; !err && i-- > 0;)
        err = try_item(p, i);
    return err;
}
