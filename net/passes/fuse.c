/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges operations into the operations before them: per-channel affine functions into a
 * convolution's weights (fold.c), activations and sums into its epilogue; then adjacent affine
 * functions that could not be folded into weights into one, and activations into the epilogues of
 * functions of two values. Operations are merged only if the device computes the merged operation
 * at the same tier, and the intermediate value is not visible.
 */
#include "net/passes/passes.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/*
 * ---- conditions
 * ------------------------------------------------------------------------------------
 */

/* last_user_before: the items within the reach do not use the value, and an earlier one may. */
#define UNKNOWN (-2)

/* The last item before `at` that uses a value; −1: none; or UNKNOWN. */
static int last_user_before(const struct ferry__program *p, int at, int value)
{
    int i, first = p->values[value].first,
           near = first > at - FERRY__REACH ? first : at - FERRY__REACH;

    for (i = at; i-- > near;)
        if (ferry__item_uses(p, &p->items[i], value))
            return i;
    return near > first ? UNKNOWN : -1;
}

/* Whether an item after `at` uses a value, or one beyond the reach may. */
static bool is_used_after(const struct ferry__program *p, int at, int value)
{
    int i, end = p->values[value].end;

    for (i = at + 1; i <= end && i <= at + FERRY__REACH; i++)
        if (ferry__item_uses(p, &p->items[i], value))
            return true;
    return i <= end;
}

static void include_user(struct ferry__value *v, int at)
{
    v->first = v->first < at ? v->first : at;
    v->end = v->end > at ? v->end : at;
}

/* Updates `first` and `end` of the operands of an item that got others. */
static void include_operands(struct ferry__program *p, int at)
{
    const struct ferry__item *item = &p->items[at];
    uint32_t k;

    for (k = 0; k < item->op.n_in; k++)
        if (item->in[k].value >= 0)
            include_user(&p->values[item->in[k].value], at);
    for (k = 0; k < item->op.n_out; k++)
        if (item->out[k].value >= 0)
            include_user(&p->values[item->out[k].value], at);
}

/* The operations that others are merged into. */
enum hosts {
    PRODUCTS, /* convolutions and inner products */
    ELEMENTS, /* BINARY */
};

/* Whether an item computes a whole value and can take further operations into its epilogue. */
static bool is_host(const struct ferry__program *p, int at, int value, enum hosts hosts)
{
    const struct ferry__item *item = &p->items[at];
    uint32_t kind = item->op.kind;

    return !item->call &&
           (hosts == ELEMENTS ? kind == FERRY_OP_BINARY
                              : kind == FERRY_OP_CONVOLUTION || kind == FERRY_OP_INNER_PRODUCT) &&
           item->out[0].value == value && ferry__is_whole(p, &item->op.out[0], &item->out[0]);
}

/*
 * Whether input k of an item has an element for each element of the output, without broadcasting.
 */
static bool is_full(const struct ferry__item *item, uint32_t k)
{
    const ferry_operand *x = &item->op.in[k], *y = &item->op.out[0];

    return x->rank == y->rank && !memcmp(x->shape, y->shape, x->rank * sizeof *x->shape);
}

/*
 * The item that item `at` can be merged into through its input `k`: it computes that input, no
 * other item uses it, item `at` does not broadcast it, and the output of item `at` may be written
 * at that earlier time. −1: there is none within the reach.
 */
static int host_of(const struct ferry__program *p, int at, uint32_t k, enum hosts hosts)
{
    const struct ferry__item *item = &p->items[at];
    int value = item->in[k].value, made = item->out[0].value, host, i;

    if (value < 0 || made < 0 || !is_full(item, k) ||
        !ferry__is_whole(p, &item->op.in[k], &item->in[k]) ||
        !ferry__is_whole(p, &item->op.out[0], &item->out[0]) || item->op.n_out != 1 ||
        item->op.n_epilogue)
        return -1;
    host = last_user_before(p, at, value);
    if (host < 0 || !is_host(p, host, value, hosts) ||
        p->items[host].layer->device != item->layer->device)
        return -1;
    if (made == value)
        return host;
    if (p->values[value].pinned || is_used_after(p, at, value))
        return -1;
    for (i = host; i < at; i++)
        if (ferry__item_uses(p, &p->items[i], made))
            return -1;
    return host;
}

/*
 * ---- merging
 * ---------------------------------------------------------------------------------------
 */

/* Accepts the longer operation if its tier is not worse. 1, 0 or an error. */
static int accept(struct ferry__item *host, const ferry_op_desc *op)
{
    ferry_operation_plan plan = { 0 };
    int err = ferry_op_desc_check(op);

    if (err)
        return 0; /* for example, the shapes of the sum do not match */
    err = ferry__item_query(host, op, &plan);
    if (err)
        return err;
    if (plan.tier > host->tier || plan.steps > host->steps)
        return 0;
    host->op = *op;
    return 1;
}

static ferry_op_desc with_step(const struct ferry__item *host, uint32_t step)
{
    ferry_op_desc op = host->op;

    op.epilogue[op.n_epilogue] = (ferry_op_step){ .step = step };
    op.n_epilogue++;
    return op;
}

int ferry__join_unary(struct ferry__item *host, const struct ferry__item *item)
{
    ferry_op_desc op;

    if (host->op.n_epilogue == FERRY_OP_EPILOGUE)
        return 0;
    op = with_step(host, FERRY_STEP_UNARY);
    op.epilogue[op.n_epilogue - 1].function = item->op.params.unary.function;
    op.epilogue[op.n_epilogue - 1].a = item->op.params.unary.a;
    op.epilogue[op.n_epilogue - 1].b = item->op.params.unary.b;
    op.epilogue[op.n_epilogue - 1].c = item->op.params.unary.c;
    return accept(host, &op);
}

/* Merges a step with an operand: input k of the item, described by `o`. */
static int join_operand(struct ferry__item *host, const struct ferry__item *item, uint32_t step,
                        uint32_t k, ferry_operand o)
{
    uint32_t at = host->op.n_in;
    ferry_op_desc op;
    int joined;

    if (host->op.n_epilogue == FERRY_OP_EPILOGUE || at == FERRY_OP_INPUTS)
        return 0;
    op = with_step(host, step);
    op.epilogue[op.n_epilogue - 1].operand = at;
    op.in[at] = o;
    op.n_in++;
    joined = accept(host, &op);
    if (joined > 0)
        host->in[at] = item->in[k];
    return joined;
}

/* Whether operand k has one element for each channel of the host item's output, or one for all. */
static bool is_per_channel(const struct ferry__item *host, const struct ferry__item *item,
                           uint32_t k)
{
    const ferry_operand *y = &item->op.out[0], *u = &item->op.in[k];
    const ferry_operand *made = &host->op.out[0];
    int64_t count = 1;
    uint32_t i;

    if (!ferry_operand_is_plain(u))
        return false;
    for (i = 0; i < u->rank; i++)
        count *= u->shape[i];
    if (count == 1)
        return true;
    return y->rank == 3 && u->rank == 3 && u->shape[0] == 1 && u->shape[2] == 1 &&
           u->shape[1] == y->shape[1] && y->shape[0] == made->shape[0] &&
           y->shape[1] == made->shape[1];
}

static int join_prelu(struct ferry__item *host, const struct ferry__item *item)
{
    int64_t slopes = item->op.in[1].rank == 3 ? item->op.in[1].shape[1] : 1;

    if (item->in[1].value >= 0 || item->in[1].diff || !is_per_channel(host, item, 1))
        return 0;
    return join_operand(host, item, FERRY_STEP_PRELU, 1,
                        ferry_operand_make(item->op.in[1].dtype, &slopes, 1, NULL));
}

/*
 * Merges a sum, y = host + other, into the host item. The other operand must be computed before the
 * host item runs. It must have the shape of y, which is the host's shape up to merged axes; a
 * broadcast operand stays an operation of its own.
 */
static int join_sum(struct ferry__program *p, int at, int host, uint32_t other)
{
    struct ferry__item *item = &p->items[at], *h = &p->items[host];
    int value = item->in[other].value, i;
    ferry_operand o;

    if (item->op.params.binary.a != 1 || item->op.params.binary.b != 1 || value < 0 ||
        value == item->in[1 - other].value || value == item->out[0].value ||
        !is_full(item, other) || !ferry__is_whole(p, &item->op.in[other], &item->in[other]))
        return 0;
    for (i = host; i < at; i++)
        if (ferry__item_writes(p, &p->items[i], value))
            return 0;
    o = ferry_operand_make(h->op.out[0].dtype, h->op.out[0].shape, (int)h->op.out[0].rank, NULL);
    return join_operand(h, item, FERRY_STEP_ADD, other, o);
}

static int join_binary(struct ferry__program *p, int at, int *out_host)
{
    struct ferry__item *item = &p->items[at];
    int host = host_of(p, at, 0, PRODUCTS), other = -1, joined = 0;

    *out_host = host;
    if (host >= 0) {
        joined = ferry__fold_try(p, &p->items[host], item);
        if (!joined && item->op.params.binary.function == FERRY_BINARY_PRELU)
            joined = join_prelu(&p->items[host], item);
    }
    if (joined || item->op.params.binary.function != FERRY_BINARY_SUM)
        return joined;
    other = host_of(p, at, 1, PRODUCTS);
    if (other > host) { /* the later item is the host, since the other operand is computed by
                         * then */
        *out_host = other;
        joined = join_sum(p, at, other, 0);
    }
    if (!joined && host >= 0) {
        *out_host = host;
        joined = join_sum(p, at, host, 1);
    }
    return joined;
}

/*
 * The item that computes input 0 of item `at`, if no other item uses that value and its own input
 * is still unchanged at `at`. Without a plan, an in-place result is kept, since its blob shows it.
 * −1: there is none.
 */
static int producer_of(const struct ferry__program *p, int at)
{
    const struct ferry__item *item = &p->items[at], *by;
    int value = item->in[0].value, producer, i;

    if (value < 0 || p->values[value].pinned || item->out[0].value == value ||
        !ferry__is_whole(p, &item->op.in[0], &item->in[0]) || is_used_after(p, at, value))
        return -1;
    producer = last_user_before(p, at, value);
    by = &p->items[producer < 0 ? at : producer];
    if (producer < 0 || by->call || by->out[0].value != value || by->in[0].value < 0 ||
        by->op.n_out != 1 || by->op.n_epilogue || !is_full(by, 0) ||
        by->layer->device != item->layer->device ||
        !ferry__is_whole(p, &by->op.out[0], &by->out[0]) ||
        !ferry__is_whole(p, &by->op.in[0], &by->in[0]))
        return -1;
    if (by->in[0].value == value)
        return p->net->plan ? producer : -1;
    for (i = producer + 1; i < at; i++)
        if (ferry__item_writes(p, &p->items[i], by->in[0].value))
            return -1;
    return producer;
}

/* Folds the affine functions before a convolution or an inner product into it, one by one. */
static int join_before(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int producer, joined;

    while ((producer = producer_of(p, at)) >= 0) {
        struct ferry__item *by = &p->items[producer];

        if (by->op.kind != FERRY_OP_UNARY && by->op.kind != FERRY_OP_BINARY)
            return 0;
        joined = ferry__fold_before(p, item, by);
        if (joined <= 0)
            return joined;
        item->in[0] = by->in[0];
        by->dropped = true;
        include_operands(p, at);
    }
    return 0;
}

/* Whether an item copies one whole value to another whole value. */
static bool is_copy(const struct ferry__program *p, const struct ferry__item *item)
{
    return !item->call && !item->dropped && item->op.kind == FERRY_OP_STRIDED_COPY &&
           item->op.in[0].dtype == item->op.out[0].dtype && is_full(item, 0) &&
           ferry__is_whole(p, &item->op.in[0], &item->in[0]) &&
           ferry__is_whole(p, &item->op.out[0], &item->out[0]);
}

/*
 * Makes the readers of a copy read its source, if neither is written during that time and the
 * program does not read the copy.
 */
static void elide(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int from, to, end, i;
    uint32_t k;

    if (!is_copy(p, item))
        return;
    from = item->in[0].value;
    to = item->out[0].value;
    end = p->values[to].end;
    if (from == to || p->values[to].pinned || end - at > FERRY__REACH ||
        last_user_before(p, at, to) != -1)
        return;
    for (i = at + 1; i <= end; i++)
        if (ferry__item_writes(p, &p->items[i], to) ||
            (ferry__item_writes(p, &p->items[i], from) &&
             (ferry__item_uses(p, &p->items[i], to) || is_used_after(p, i, to))))
            return;
    for (i = at + 1; i <= end; i++)
        for (k = 0; !p->items[i].call && k < p->items[i].op.n_in; k++)
            if (p->items[i].in[k].value == to)
                p->items[i].in[k].value = from;
    include_user(&p->values[from], end);
    item->dropped = true;
}

/* Makes item `host` write the result of item `at`, which is then no longer computed on its own. */
static void take_over(struct ferry__program *p, int host, int at)
{
    int was = p->items[host].out[0].value, is = p->items[at].out[0].value;

    if (was >= 0 && was != is)
        p->values[was].merged = true;
    p->items[host].out[0] = p->items[at].out[0];
    p->items[at].dropped = true;
    include_operands(p, host);
}

/* Merges item `at` into a BINARY, after all that convolutions and inner products could take. */
static int join_elements(struct ferry__program *p, int at)
{
    const struct ferry__item *item = &p->items[at];
    bool is_unary = item->op.kind == FERRY_OP_UNARY;
    int host, joined = 0;

    if (item->call || item->dropped || (!is_unary && item->op.kind != FERRY_OP_BINARY))
        return 0;
    host = host_of(p, at, 0, ELEMENTS);
    if (host >= 0)
        joined = ferry__fold_pair(p, &p->items[host], item);
    if (host >= 0 && !joined && is_unary)
        joined = ferry__join_unary(&p->items[host], item);
    if (joined <= 0)
        return joined;
    take_over(p, host, at);
    return 0;
}

static int join(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int host = -1, joined = 0;

    if (item->call || item->dropped)
        return 0;
    if (item->op.kind == FERRY_OP_CONVOLUTION || item->op.kind == FERRY_OP_INNER_PRODUCT)
        return join_before(p, at);
    if (item->op.kind == FERRY_OP_UNARY) {
        host = host_of(p, at, 0, PRODUCTS);
        if (host >= 0)
            joined = ferry__fold_try(p, &p->items[host], item);
        if (host >= 0 && !joined)
            joined = ferry__join_unary(&p->items[host], item);
    } else if (item->op.kind == FERRY_OP_BINARY) {
        joined = join_binary(p, at, &host);
    } else if (is_copy(p, item)) {
        host = host_of(p, at, 0, PRODUCTS);
        joined = host >= 0;
    }
    if (joined <= 0)
        return joined;
    take_over(p, host, at);
    return 0;
}

/*
 * Stores the remaining values of a net without a plan in their blobs, except a value whose last
 * writer was merged into another item.
 */
static void show_unplanned(struct ferry__program *p)
{
    uint32_t k;
    int i;

    for (i = 0; i < p->n_items; i++)
        for (k = 0; !p->items[i].call && !p->items[i].dropped && k < p->items[i].op.n_out; k++) {
            int value = p->items[i].out[k].value;

            if (value >= 0 && !p->values[value].merged)
                p->values[value].pinned = true;
        }
}

/* Copies first, then what products take, then what is left. */
static int merge(struct ferry__program *p)
{
    int i, err;

    ferry__program_find_users(p);
    err = ferry__folds_begin(p);
    for (i = 0; !err && p->net->plan && i < p->n_items; i++)
        elide(p, i);
    for (i = 0; !err && p->net->fuse && i < p->n_items; i++)
        err = join(p, i);
    for (i = 0; !err && p->net->fuse && i < p->n_items; i++)
        err = join_elements(p, i);
    free(p->written);
    p->written = NULL;
    return err;
}

int ferry__pass_fuse(struct ferry__program *p)
{
    int i, err = 0;

    for (i = 0; !err && i < p->n_items; i++)
        if (!p->items[i].call)
            err = ferry__item_choose(p, &p->items[i]);
    if (!err)
        err = merge(p);
    if (!p->net->plan && !p->net->plan_training)
        show_unplanned(p);
    return err;
}
