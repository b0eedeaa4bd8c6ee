/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the order of axes of values: channels last where operations prefer it, with copies at the
 * borders between such regions and row-major values.
 */
#include "net/passes/passes.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

/* Whether channels last differs from row-major for this value. */
static bool matters(const struct ferry__value *v)
{
    int64_t spatial = 1;
    int i;

    for (i = 2; i < v->rank; i++)
        spatial *= v->shape[i];
    return v->rank > 2 && v->shape[1] > 1 && spatial > 1;
}

static bool may_be_last(const struct ferry__value *v)
{
    return !v->own && !v->pinned && !v->plain && v->rank > 2 && v->rank <= 5;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Whether an operation prefers channels last for its input and output. */
static bool prefers_last(const struct ferry__item *item)
{
    uint32_t rank = item->op.in[0].rank;

    return !item->call && !item->dropped && rank > 2 && item->order[rank - 1] == 1 &&
           item->op.n_out == 1;
}

/* Whether an item converts a value element by element: to another dtype, or by its epilogue. */
static bool is_conversion(const struct ferry__item *item)
{
    const ferry_operand *x = &item->op.in[0], *y = &item->op.out[0];

    return item->op.kind == FERRY_OP_STRIDED_COPY && x->rank == y->rank &&
           (x->dtype != y->dtype || item->op.n_epilogue) &&
           !memcmp(x->shape, y->shape, x->rank * sizeof *x->shape);
}

/* Whether an operation accepts any order that its inputs and outputs share. */
static bool is_neutral(const struct ferry__item *item)
{
    return !item->call && !item->dropped &&
           (item->op.kind == FERRY_OP_UNARY || item->op.kind == FERRY_OP_BINARY ||
            item->op.kind == FERRY_OP_LRN || is_conversion(item));
}

static bool set_last(struct ferry__program *p, const ferry_operand *o, const struct ferry__use *use)
{
    struct ferry__value *v = use->value < 0 ? NULL : &p->values[use->value];

    if (!v || v->last || !may_be_last(v) || !ferry__is_whole(p, o, use))
        return false;
    v->last = true;
    return true;
}

/*
 * Makes a whole operand channels last if its operation prefers that. If the channel axis of the
 * value differs from that of the operand, the value gets the axes of the operand. This happens
 * where Reshape, Permute and Reshape shuffle channels: the value that Permute writes has two axes
 * for them.
 */
static void prefer_last(struct ferry__program *p, const ferry_operand *o,
                        const struct ferry__use *use)
{
    struct ferry__value *v = use->value < 0 ? NULL : &p->values[use->value];

    if (!set_last(p, o, use) || memcmp(v->shape, o->shape, 2 * sizeof *o->shape) == 0)
        return;
    v->rank = (int)o->rank;
    memcpy(v->shape, o->shape, o->rank * sizeof *o->shape);
}

/*
 * For a neutral operation with one channels-last operand: makes all of its whole operands channels
 * last.
 */
static bool spread(struct ferry__program *p, const struct ferry__item *item)
{
    bool any = false, more = false;
    uint32_t i;

    for (i = 0; i < item->op.n_in; i++)
        any = any || (item->in[i].value >= 0 && p->values[item->in[i].value].last);
    any = any || (item->out[0].value >= 0 && p->values[item->out[0].value].last);
    for (i = 0; any && i < item->op.n_in; i++)
        more = set_last(p, &item->op.in[i], &item->in[i]) || more;
    return any ? set_last(p, &item->op.out[0], &item->out[0]) || more : false;
}

static void find_regions(struct ferry__program *p)
{
    bool more = true;
    uint32_t k;
    int i;

    for (i = 0; i < p->n_values; i++)
        p->values[i].last = false;
    for (i = 0; i < p->n_items; i++) {
        struct ferry__item *item = &p->items[i];

        if (!prefers_last(item))
            continue;
        prefer_last(p, &item->op.in[0], &item->in[0]);
        prefer_last(p, &item->op.out[0], &item->out[0]);
        for (k = 0; k < item->op.n_epilogue; k++)
            if (item->op.epilogue[k].step == FERRY_STEP_ADD)
                set_last(p, &item->op.in[item->op.epilogue[k].operand],
                         &item->in[item->op.epilogue[k].operand]);
    }
    while (more) {
        more = false;
        for (i = 0; i < p->n_items; i++)
            if (is_neutral(&p->items[i]))
                more = spread(p, &p->items[i]) || more;
    }
}

/*
 * Reverts values to row-major if an operation does not accept them channels last. *out_again:
 * some values were reverted.
 */
static int retract(struct ferry__program *p, bool *out_again)
{
    int64_t in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    ferry_operation_plan plan = { 0 };
    uint32_t k;
    int i, err;

    for (i = 0; i < p->n_items; i++) {
        struct ferry__item *item = &p->items[i];
        bool bad = false;
        ferry_op_desc op;

        if (item->call || item->dropped)
            continue;
        bad = !ferry__item_set_strides(p, item, &op, in, out);
        if (!bad) {
            err = ferry__item_query(item, &op, &plan);
            if (err)
                return err;
            bad = plan.tier > item->tier || plan.steps > item->steps ||
                  !ferry__item_reaches(p, item, in, out);
        }
        for (k = 0; bad && k < item->op.n_in + item->op.n_out; k++) {
            int value = k < item->op.n_in ? item->in[k].value : item->out[k - item->op.n_in].value;

            if (value >= 0 && p->values[value].last) {
                p->values[value].plain = true;
                *out_again = true;
            }
        }
    }
    return 0;
}

/* ---- borders --------------------------------------------------------------------------------- */

/*
 * Whether an operand can read a channels-last copy of its value. It cannot if its axes differ from
 * those of its value, for example because it is an alias with another shape.
 */
static bool meets_border(const struct ferry__program *p, const ferry_operand *o,
                         const struct ferry__use *use)
{
    const struct ferry__value *v = use->value < 0 ? NULL : &p->values[use->value];

    return v && !v->last && matters(v) && v->rank == (int)o->rank && v->rank <= 5 &&
           !memcmp(v->shape, o->shape, o->rank * sizeof *o->shape) && ferry__is_whole(p, o, use);
}

static void describe_copy(const struct ferry__value *v, ferry_op_desc *out)
{
    ferry_op_desc_init(out, FERRY_OP_STRIDED_COPY);
    out->n_in = out->n_out = 1;
    out->in[0] = out->out[0] = ferry_operand_make((ferry_dtype)v->dtype, v->shape, v->rank, NULL);
}

/*
 * Whether an item's device can itself copy its operands: a copy through the host would cost more
 * than the layout gains.
 */
static int is_copied_there(const struct ferry__program *p, struct ferry__item *item,
                           const struct ferry__use *use, bool *out)
{
    ferry_operation_plan plan = { 0 };
    ferry_op_desc op;
    int err;

    describe_copy(&p->values[use->value], &op);
    err = ferry__item_query(item, &op, &plan);
    *out = !err && plan.tier <= item->tier;
    return err;
}

/* Whether an item prefers no other order than its operands have. */
static int likes_its_order(const struct ferry__program *p, struct ferry__item *item, bool *out)
{
    static const uint8_t any[FERRY_OP_AXES] = { 0 };
    int64_t in[FERRY_OP_INPUTS], to[FERRY_OP_OUTPUTS];
    ferry_operation_plan plan = { 0 };
    ferry_op_desc op;
    int err = 0;

    *out = false;
    if (ferry__item_set_strides(p, item, &op, in, to)) {
        err = ferry__item_query(item, &op, &plan);
        *out = !err && memcmp(plan.order, any, sizeof any) == 0;
    }
    return err;
}

/* Inserts before item `at` a copy of value `from` into value `to`, which has the same shape. */
static int insert_copy(struct ferry__program *p, int at, int from, int to, ferry_layer *layer)
{
    struct ferry__item *item = ferry__program_insert(p, at);
    ferry_operation_plan plan = { 0 };
    int err;

    if (!item)
        return FERRY_ENOMEM;
    item->layer = layer;
    item->number = -1;
    item->border = true;
    describe_copy(&p->values[from], &item->op);
    item->in[0] = (struct ferry__use){ .value = from };
    item->out[0] = (struct ferry__use){ .value = to };
    err = ferry__item_query(item, &item->op, &plan);
    item->tier = plan.tier;
    item->steps = plan.steps;
    return err;
}

static int value_at_border(struct ferry__program *p, int value)
{
    int made = ferry__program_value_like(p, value);

    if (made >= 0)
        p->values[made].last = true;
    return made;
}

/* Makes item `at` read, or write, a channels-last copy. */
static int cross_border(struct ferry__program *p, int at)
{
    ferry_layer *layer = p->items[at].layer;
    struct ferry__item *item = &p->items[at];
    bool reads = meets_border(p, &item->op.in[0], &item->in[0]);
    bool writes = meets_border(p, &item->op.out[0], &item->out[0]), copied = false;
    int value, made, err = 0;

    if (reads || writes)
        err = is_copied_there(p, item, reads ? &item->in[0] : &item->out[0], &copied);
    if (copied && reads && !writes) {
        bool likes = false;

        err = likes_its_order(p, item, &likes);
        copied = !likes;
    }
    if (err || !copied)
        return err;
    if (reads) {
        value = p->items[at].in[0].value;
        made = value_at_border(p, value);
        err = made < 0 ? made : insert_copy(p, at, value, made, layer);
        if (err)
            return err;
        p->items[at].in[0].value = made;
    }
    if (writes) {
        value = p->items[at].out[0].value;
        made = value_at_border(p, value);
        err = made < 0 ? made : insert_copy(p, at + 1, made, value, layer);
        if (err)
            return err;
        p->items[at].out[0].value = made;
    }
    return 0;
}

static int add_borders(struct ferry__program *p)
{
    int i, err = 0;

    for (i = 0; !err && i < p->n_items; i++)
        if (prefers_last(&p->items[i]) && p->items[i].tier == FERRY_TIER_OWN)
            err = cross_border(p, i);
    return err ? err : ferry__program_insert_all(p);
}

/*
 * ---- the pass
 * --------------------------------------------------------------------------------------
 */

static int lay_regions(struct ferry__program *p)
{
    bool again = true;
    int i, err = 0;

    while (!err && again) {
        again = false;
        find_regions(p);
        for (i = 0; i < p->n_values; i++)
            ferry__value_set_strides(&p->values[i]);
        err = retract(p, &again);
    }
    if (!err)
        err = add_borders(p);
    for (i = 0; i < p->n_values; i++)
        ferry__value_set_strides(&p->values[i]);
    return err;
}

int ferry__pass_layout(struct ferry__program *p)
{
    int i;

    for (i = 0; i < p->n_values; i++)
        ferry__value_set_strides(&p->values[i]);
    return p->net->plan ? lay_regions(p) : 0;
}
