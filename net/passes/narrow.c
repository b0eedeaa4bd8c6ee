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
#include <string.h>

struct narrow {
    struct ferry__program *p;
    bool *is_narrow;     /* for each value: it is stored as BF16 */
    bool *is_changed;    /* for each item: a dtype changed since the device was asked about it */
    int *first_user;     /* for each value, and one more: where its users begin in `users` */
    int *users;          /* the operations that use each value, those of value 0 first */
    ferry_device **used; /* for each value: the device of the items that use it; NULL: none */
};

/* Whether an item uses values by its operands. */
static bool is_user(const struct ferry__item *item)
{
    return !item->call && !item->dropped;
}

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

/*
 * Whether an item scales and shifts the input of a product, which rounds it in any case. Other sums
 * may cancel digits that nothing else rounds.
 */
static bool is_scale(const struct narrow *n, const struct ferry__item *item)
{
    const uint32_t function = item->op.params.binary.function;
    int value = item->out[0].value, i;

    if (!is_operation(item, FERRY_OP_BINARY) || value < 0 ||
        (function != FERRY_BINARY_SCALE && function != FERRY_BINARY_NORMALISE))
        return false;
    for (i = n->first_user[value]; i < n->first_user[value + 1]; i++)
        if (is_product(&n->p->items[n->users[i]]))
            return true;
    return false;
}

/* Whether an item computes with values of BF16 and other operands of F32. */
static bool computes(const struct narrow *n, const struct ferry__item *item)
{
    return is_product(item) || is_scale(n, item);
}

/* Whether input `k` of an item may be BF16 although its weights are F32. */
static bool may_read(const struct narrow *n, const struct ferry__item *item, uint32_t k)
{
    uint32_t i;

    if (moves(item) || k == 0)
        return k == 0 && (moves(item) || computes(n, item));
    for (i = 0; is_product(item) && i < item->op.n_epilogue; i++)
        if (item->op.epilogue[i].step == FERRY_STEP_ADD && item->op.epilogue[i].operand == k)
            return true;
    return false;
}

/* Stores a value as F32. The device has to be asked again about the operations that use it. */
static void exclude(struct narrow *n, int value)
{
    int i;

    if (value < 0 || !n->is_narrow[value])
        return;
    n->is_narrow[value] = false;
    for (i = n->first_user[value]; i < n->first_user[value + 1]; i++)
        n->is_changed[n->users[i]] = true;
}

/* Excludes the values of a layer's own function, which may access all of its blobs. */
static void exclude_called(struct narrow *n, const ferry_layer *layer)
{
    int i;

    for (i = 0; i < layer->n_bottoms; i++)
        exclude(n, n->p->of_blob[ferry__net_root(n->p->net, layer->bottoms[i])]);
    for (i = 0; i < layer->n_tops; i++)
        exclude(n, n->p->of_blob[ferry__net_root(n->p->net, layer->tops[i])]);
}

/* Excludes the values that item `at` uses in another way than as BF16. */
static void exclude_by_kind(struct narrow *n, int at)
{
    const struct ferry__item *item = &n->p->items[at];
    bool none = item->tier != FERRY_TIER_OWN || item->layer->float_only || item->integers;
    uint32_t k;

    if (item->dropped)
        return;
    if (item->call)
        exclude_called(n, item->layer);
    for (k = 0; !item->call && k < item->op.n_in; k++)
        if (none || !may_read(n, item, k))
            exclude(n, item->in[k].value);
    for (k = 0; !item->call && k < item->op.n_out; k++)
        if (none || (!computes(n, item) && !moves(item)))
            exclude(n, item->out[k].value);
}

static bool may_be_narrow(const struct ferry__value *v)
{
    return v->dtype == FERRY_F32 && !v->pinned && !v->own && !v->seen && v->count > 0;
}

/* Notes that an item uses a value, and excludes the value if items on other devices use it. */
static void note_device(struct narrow *n, const struct ferry__item *item, int value)
{
    if (value < 0)
        return;
    if (n->used[value] && n->used[value] != item->layer->device)
        exclude(n, value);
    n->used[value] = item->layer->device;
}

/* Excludes values that several devices use, or none. */
static void exclude_by_devices(struct narrow *n)
{
    uint32_t k;
    int i;

    for (i = 0; i < n->p->n_items; i++) {
        const struct ferry__item *item = &n->p->items[i];

        for (k = 0; is_user(item) && k < item->op.n_in; k++)
            note_device(n, item, item->in[k].value);
        for (k = 0; is_user(item) && k < item->op.n_out; k++)
            note_device(n, item, item->out[k].value);
    }
    for (i = 0; i < n->p->n_values; i++)
        if (!n->used[i])
            exclude(n, i);
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

/*
 * Excludes the values of an item that is not taken with all of their dtypes. Asks about the items
 * whose dtypes changed, in their order, so that each is asked about once for each change.
 */
static int exclude_refused(struct narrow *n)
{
    struct ferry__program *p = n->p;
    const bool *next = p->n_items ? n->is_changed : NULL;
    uint32_t k;
    int err = 0;

    while (!err && next) {
        int at = (int)(next - n->is_changed);
        struct ferry__item *item = &p->items[at];
        bool taken;

        n->is_changed[at] = false;
        err = is_taken(n, item, &taken);
        for (k = 0; !err && !taken && k < item->op.n_in; k++)
            exclude(n, item->in[k].value);
        for (k = 0; !err && !taken && k < item->op.n_out; k++)
            exclude(n, item->out[k].value);
        next = memchr(next + 1, true, (size_t)(p->n_items - at - 1));
        if (!next)
            next = memchr(n->is_changed, true, (size_t)p->n_items);
    }
    return err;
}

static int choose(struct narrow *n)
{
    int i, err;

    for (i = 0; i < n->p->n_values; i++)
        n->is_narrow[i] = may_be_narrow(&n->p->values[i]);
    for (i = 0; i < n->p->n_items; i++)
        exclude_by_kind(n, i);
    exclude_by_devices(n);
    memset(n->is_changed, true, (size_t)n->p->n_items * sizeof *n->is_changed);
    err = exclude_refused(n);
    for (i = 0; !err && i < n->p->n_items; i++)
        set_dtypes(n, &n->p->items[i], &n->p->items[i].op);
    for (i = 0; !err && i < n->p->n_values; i++)
        if (n->is_narrow[i])
            n->p->values[i].dtype = FERRY_BF16;
    return err;
}

/* ---- users of values ------------------------------------------------------------------------- */

/* Counts one use of a value in `first_user`, or adds an item to its users from their end on. */
static void add_use(struct narrow *n, int value, int item)
{
    if (value < 0)
        return;
    if (n->users)
        n->users[--n->first_user[value]] = item;
    else
        n->first_user[value]++;
}

static void add_uses(struct narrow *n)
{
    uint32_t k;
    int i;

    for (i = 0; i < n->p->n_items; i++) {
        const struct ferry__item *item = &n->p->items[i];

        for (k = 0; is_user(item) && k < item->op.n_in; k++)
            add_use(n, item->in[k].value, i);
        for (k = 0; is_user(item) && k < item->op.n_out; k++)
            add_use(n, item->out[k].value, i);
    }
}

/* Lists the operations that use each value. */
static bool find_users(struct narrow *n)
{
    int i;

    add_uses(n);
    for (i = 0; i < n->p->n_values; i++)
        n->first_user[i + 1] += n->first_user[i];
    n->users = malloc(((size_t)n->first_user[n->p->n_values] + 1) * sizeof *n->users);
    if (n->users)
        add_uses(n);
    return n->users;
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
    n.is_changed = calloc((size_t)p->n_items + 1, sizeof *n.is_changed);
    n.first_user = calloc((size_t)p->n_values + 1, sizeof *n.first_user);
    n.used = calloc((size_t)p->n_values, sizeof *n.used);
    if (n.is_narrow && n.is_changed && n.first_user && n.used && find_users(&n))
        err = choose(&n);
    else
        err = ferry_error_set(FERRY_ENOMEM, "net: no memory for the dtypes of its values");
    free(n.is_narrow);
    free(n.is_changed);
    free(n.first_user);
    free(n.users);
    free(n.used);
    return err;
}
