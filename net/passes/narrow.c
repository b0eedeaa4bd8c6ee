/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores values between operations as BF16, where the net's precision permits it and all operations
 * that use a value take it so on their device: products read and write half the bytes.
 *
 * A value that the program or a caller can read remains F32, and so does one that an operation of
 * another kind uses. The pass runs after the layout is chosen, since what a device takes depends on
 * the order of axes.
 */
#include "net/passes/passes.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>

struct narrow {
    struct ferry__program *p;
    bool *is_narrow; /* for each value: it is stored as BF16 */
};

static bool is_operation(const struct ferry__item *item, uint32_t kind)
{
    return !item->call && !item->dropped && item->op.kind == kind &&
           item->op.pass == FERRY_PASS_FORWARD;
}

static bool is_product(const struct ferry__item *item)
{
    return (is_operation(item, FERRY_OP_CONVOLUTION) ||
            is_operation(item, FERRY_OP_INNER_PRODUCT)) &&
           item->op.math & FERRY_MATH_BF16;
}

/* Whether an item only moves numbers or compares them, so that its output has the dtype of x. */
static bool moves(const struct ferry__item *item)
{
    return (is_operation(item, FERRY_OP_STRIDED_COPY) ||
            (is_operation(item, FERRY_OP_POOL) && item->op.n_out == 1)) &&
           !item->op.n_epilogue;
}

/* Whether input `k` of an item may be BF16 although its weights are F32. */
static bool may_read(const struct ferry__item *item, uint32_t k)
{
    uint32_t i;

    if (moves(item) || k == 0)
        return k == 0 && (moves(item) || is_product(item));
    for (i = 0; is_product(item) && i < item->op.n_epilogue; i++)
        if (item->op.epilogue[i].step == FERRY_STEP_ADD && item->op.epilogue[i].operand == k)
            return true;
    return false;
}

static void exclude(struct narrow *n, int value)
{
    if (value >= 0)
        n->is_narrow[value] = false;
}

/* Excludes the values that item `at` uses in another way than as BF16. */
static void exclude_by_kind(struct narrow *n, int at)
{
    const struct ferry__item *item = &n->p->items[at];
    bool none = item->tier != FERRY_TIER_OWN || item->layer->float_only || item->integers;
    uint32_t k;
    int v;

    if (item->dropped)
        return;
    for (v = 0; item->call && v < n->p->n_values; v++)
        if (ferry__item_uses(n->p, item, v))
            exclude(n, v);
    for (k = 0; !item->call && k < item->op.n_in; k++)
        if (none || !may_read(item, k))
            exclude(n, item->in[k].value);
    for (k = 0; !item->call && k < item->op.n_out; k++)
        if (none || (!is_product(item) && !moves(item)))
            exclude(n, item->out[k].value);
}

static bool may_be_narrow(const struct ferry__value *v)
{
    return v->dtype == FERRY_F32 && !v->pinned && !v->own && !v->seen && v->count > 0;
}

/* Excludes values that several devices use, or none. */
static void exclude_by_devices(struct narrow *n, int value)
{
    const ferry_device *device = NULL;
    int i;

    for (i = 0; n->is_narrow[value] && i < n->p->n_items; i++) {
        const struct ferry__item *item = &n->p->items[i];

        if (item->dropped || !ferry__item_uses(n->p, item, value))
            continue;
        n->is_narrow[value] = !device || device == item->layer->device;
        device = item->layer->device;
    }
    n->is_narrow[value] = n->is_narrow[value] && device;
}

/* Gives the operands of an operation the dtypes of their values; returns whether one is BF16. */
static bool set_dtypes(const struct narrow *n, const struct ferry__item *item, ferry_op_desc *op)
{
    bool any = false;
    uint32_t k;

    for (k = 0; k < op->n_in; k++)
        if (item->in[k].value >= 0 && n->is_narrow[item->in[k].value]) {
            op->in[k].dtype = FERRY_BF16;
            any = true;
        }
    for (k = 0; k < op->n_out; k++)
        if (item->out[k].value >= 0 && n->is_narrow[item->out[k].value]) {
            op->out[k].dtype = FERRY_BF16;
            any = true;
        }
    return any;
}

/* Whether the device computes an item with the dtypes of its values as well as in F32. */
static int is_taken(struct narrow *n, struct ferry__item *item, bool *out)
{
    int64_t in[FERRY_OP_INPUTS], to[FERRY_OP_OUTPUTS];
    ferry_operation_plan plan = { 0 };
    ferry_op_desc op;
    int err;

    *out = true;
    if (item->call || item->dropped || !ferry__item_set_strides(n->p, item, &op, in, to) ||
        !set_dtypes(n, item, &op))
        return 0;
    *out = !ferry_op_desc_check(&op) && (!moves(item) || op.in[0].dtype == op.out[0].dtype);
    if (!*out)
        return 0;
    err = ferry__item_query(item, &op, &plan);
    *out = !err && plan.tier == FERRY_TIER_OWN && plan.steps <= item->steps &&
           ferry__item_reaches(n->p, item, in, to);
    return err;
}

/* Excludes the values of an item that is not taken with all of their dtypes. */
static int exclude_refused(struct narrow *n, bool *out_any)
{
    uint32_t k;
    int i, err = 0;

    *out_any = false;
    for (i = 0; !err && i < n->p->n_items; i++) {
        struct ferry__item *item = &n->p->items[i];
        bool taken;

        err = is_taken(n, item, &taken);
        if (err || taken)
            continue;
        for (k = 0; k < item->op.n_in; k++)
            exclude(n, item->in[k].value);
        for (k = 0; k < item->op.n_out; k++)
            exclude(n, item->out[k].value);
        *out_any = true;
    }
    return err;
}

static int choose(struct narrow *n)
{
    bool again = true;
    int i, err = 0;

    for (i = 0; i < n->p->n_values; i++)
        n->is_narrow[i] = may_be_narrow(&n->p->values[i]);
    for (i = 0; i < n->p->n_items; i++)
        exclude_by_kind(n, i);
    for (i = 0; i < n->p->n_values; i++)
        exclude_by_devices(n, i);
    while (!err && again)
        err = exclude_refused(n, &again);
    for (i = 0; !err && i < n->p->n_items; i++)
        set_dtypes(n, &n->p->items[i], &n->p->items[i].op);
    for (i = 0; !err && i < n->p->n_values; i++)
        if (n->is_narrow[i])
            n->p->values[i].dtype = FERRY_BF16;
    return err;
}

int ferry__pass_narrow(struct ferry__program *p)
{
    const ferry_net *net = p->net;
    struct narrow n = { .p = p };
    int err;

    if (!(net->math & FERRY_MATH_BF16) || !net->plan || !net->fuse || net->backward || p->claims ||
        !p->n_values)
        return 0;
    n.is_narrow = calloc((size_t)p->n_values, sizeof *n.is_narrow);
    if (!n.is_narrow)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for the dtypes of its values");
    err = choose(&n);
    free(n.is_narrow);
    return err;
}
