/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How values lie: channels last wherever operations like that, with copies where such a region meets
 * what is row-major; and each operation's operands, said with those strides.
 */
#include "net/ir/program.h"

#include <ferry/status.h>

#include <string.h>

/* ---- values ---------------------------------------------------------------------------------------- */

/* An axis without elements takes the room of one: a stride is never 0. */
static int64_t room_of(int64_t elements)
{
    return elements > 1 ? elements : 1;
}

void ferry__value_lay(struct ferry__value *v)
{
    int64_t step = 1;
    int i;

    if (v->last) {
        v->stride[1] = 1;
        step = room_of(v->shape[1]);
    }
    for (i = v->rank; i-- > 0;) {
        if (v->last && i == 1)
            continue;
        v->stride[i] = step;
        step *= room_of(v->shape[i]);
    }
}

/* Whether channels last is another order than row-major. */
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

/* ---- operands -------------------------------------------------------------------------------------- */

/* Row-major strides of a value's axes. */
static void plain_strides(const struct ferry__value *v, int64_t *out)
{
    int64_t step = 1;
    int i;

    for (i = v->rank; i-- > 0;) {
        out[i] = step;
        step *= room_of(v->shape[i]);
    }
}

/*
 * One axis of an operand, `n` elements `step` apart in row-major order, in the order that the value
 * has: an axis of the value, a part of one, or several that still follow one another. 0: it cannot be.
 */
static int64_t axis_stride(const struct ferry__value *v, const int64_t *plain, int64_t n,
                           int64_t step)
{
    int64_t left = n, stride, along;
    int a;

    for (a = 0; a < v->rank && (v->shape[a] == 1 || plain[a] > step); a++)
        ;
    if (a == v->rank || step % plain[a])
        return 0;
    stride = v->stride[a] * (step / plain[a]);
    along = v->shape[a] / (step / plain[a]);
    if (left <= along)
        return stride;
    if (v->shape[a] % (step / plain[a]))
        return 0;
    for (;; left /= along, along = v->shape[a]) {
        int64_t next = (left == n ? stride : v->stride[a]) * along;

        if (left <= along)
            return stride;
        if (left % along)
            return 0;
        do
            a--;
        while (a >= 0 && v->shape[a] == 1);
        if (a < 0 || v->stride[a] != next)
            return 0;
    }
}

static int64_t start_of(const struct ferry__value *v, const int64_t *plain, int64_t start)
{
    int64_t at = 0;
    int a;

    for (a = 0; a < v->rank; a++)
        if (v->shape[a] > 1)
            at += start / plain[a] % v->shape[a] * v->stride[a];
    return at;
}

/* An operand with other axes: those of its value, all of them. */
static ferry_operand as_value(const struct ferry__value *v)
{
    ferry_operand o = ferry_operand_make((ferry_dtype)v->dtype, v->shape, v->rank, NULL);

    memcpy(o.stride, v->stride, sizeof v->stride);
    return o;
}

static bool lay_operand(const struct ferry__value *v, const struct ferry__use *use,
                        ferry_operand *o, int64_t *out_start)
{
    int64_t plain[FERRY_OP_AXES];
    uint32_t i;

    *out_start = use->start;
    plain_strides(v, plain);
    /* no element is anywhere, or all are where the operand says, whatever its axes */
    if (!v->count || !memcmp(v->stride, plain, (size_t)v->rank * sizeof *plain))
        return true;
    for (i = 0; i < o->rank; i++) {
        if (o->shape[i] <= 1 || o->stride[i] == 0)
            continue;
        o->stride[i] = axis_stride(v, plain, o->shape[i], o->stride[i]);
        if (!o->stride[i])
            return false;
    }
    *out_start = start_of(v, plain, use->start);
    return true;
}

static bool same_dims(const struct ferry__value *a, const struct ferry__value *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, sizeof a->shape);
}

/* Whether the operation may see all of its operands with their values' own axes. */
static bool takes_any_axes(const struct ferry__program *p, const struct ferry__item *item)
{
    return item->op.kind == FERRY_OP_UNARY && item->in[0].value >= 0 && item->out[0].value >= 0 &&
           ferry__is_whole(p, &item->op.in[0], &item->in[0]) &&
           ferry__is_whole(p, &item->op.out[0], &item->out[0]) &&
           same_dims(&p->values[item->in[0].value], &p->values[item->out[0].value]);
}

/* x of an inner product: its items, then whatever axes there are. */
static bool takes_inner_axes(const struct ferry__program *p, const struct ferry__item *item)
{
    const struct ferry__value *v;

    if (item->op.kind != FERRY_OP_INNER_PRODUCT || item->in[0].value < 0)
        return false;
    v = &p->values[item->in[0].value];
    return v->rank > 1 && v->shape[0] == item->op.in[0].shape[0] &&
           ferry__is_whole(p, &item->op.in[0], &item->in[0]);
}

int ferry__item_lay(const struct ferry__program *p, const struct ferry__item *item,
                    ferry_op_desc *op, int64_t *in_start, int64_t *out_start)
{
    bool any = takes_any_axes(p, item), inner = takes_inner_axes(p, item);
    uint32_t i;

    *op = item->op;
    for (i = 0; i < op->n_in; i++) {
        const struct ferry__use *use = &item->in[i];

        in_start[i] = use->start;
        if (use->value < 0)
            continue;
        if (i == 0 && (any || inner))
            op->in[0] = as_value(&p->values[use->value]);
        else if (!lay_operand(&p->values[use->value], use, &op->in[i], &in_start[i]))
            return 0;
    }
    for (i = 0; i < op->n_out; i++) {
        const struct ferry__use *use = &item->out[i];

        out_start[i] = use->start;
        if (use->value < 0)
            continue;
        if (i == 0 && any)
            op->out[0] = as_value(&p->values[use->value]);
        else if (!lay_operand(&p->values[use->value], use, &op->out[i], &out_start[i]))
            return 0;
    }
    return 1;
}

/* ---- regions --------------------------------------------------------------------------------------- */

/* Whether an operation likes its input and its output with their channels last. */
static bool likes_last(const struct ferry__item *item)
{
    uint32_t rank = item->op.in[0].rank;

    return !item->call && !item->dropped && rank > 2 && item->order[rank - 1] == 1 &&
           item->op.n_out == 1;
}

/* Whether an operation does not mind, as long as what it reads and writes lies alike. */
static bool is_neutral(const struct ferry__item *item)
{
    return !item->call && !item->dropped &&
           (item->op.kind == FERRY_OP_UNARY || item->op.kind == FERRY_OP_BINARY ||
            item->op.kind == FERRY_OP_LRN);
}

static bool set_last(struct ferry__program *p, const ferry_operand *o, const struct ferry__use *use)
{
    struct ferry__value *v = use->value < 0 ? NULL : &p->values[use->value];

    if (!v || v->last || !may_be_last(v) || !ferry__is_whole(p, o, use))
        return false;
    v->last = true;
    return true;
}

/* Of a neutral operation all whole operands, once one of them is. */
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

        if (!likes_last(item))
            continue;
        set_last(p, &item->op.in[0], &item->in[0]);
        set_last(p, &item->op.out[0], &item->out[0]);
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

/* Values that an operation cannot take as they lie stay row-major. Whether there were some. */
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
        bad = !ferry__item_lay(p, item, &op, in, out);
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

/* ---- borders --------------------------------------------------------------------------------------- */

/* An operand with other axes than its value's (an alias of another shape) could not read such a copy. */
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

/* Whether an item's device copies its operands itself: through the host it would cost more than it gives. */
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

/* A copy of value `from` into value `to`, of one shape, before item `at`. */
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

/* Item `at` reads, or writes, a copy that has its channels last. *at goes along with it. */
static int cross_border(struct ferry__program *p, int *at)
{
    ferry_layer *layer = p->items[*at].layer;
    struct ferry__item *item = &p->items[*at];
    bool reads = meets_border(p, &item->op.in[0], &item->in[0]);
    bool writes = meets_border(p, &item->op.out[0], &item->out[0]), copied = false;
    int value, made, err = 0;

    if (reads || writes)
        err = is_copied_there(p, item, reads ? &item->in[0] : &item->out[0], &copied);
    if (!copied)
        return err;
    if (reads) {
        value = p->items[*at].in[0].value;
        made = value_at_border(p, value);
        err = made < 0 ? made : insert_copy(p, *at, value, made, layer);
        if (err)
            return err;
        ++*at;
        p->items[*at].in[0].value = made;
    }
    if (writes) {
        value = p->items[*at].out[0].value;
        made = value_at_border(p, value);
        err = made < 0 ? made : insert_copy(p, *at + 1, made, value, layer);
        if (err)
            return err;
        p->items[*at].out[0].value = made;
        ++*at;
    }
    return 0;
}

static int add_borders(struct ferry__program *p)
{
    int i, err = 0;

    for (i = 0; !err && i < p->n_items; i++)
        if (likes_last(&p->items[i]) && p->items[i].tier == FERRY_TIER_OWN)
            err = cross_border(p, &i);
    return err;
}

/* ---- all of it ------------------------------------------------------------------------------------- */

static int lay_regions(struct ferry__program *p)
{
    bool again = true;
    int i, err = 0;

    while (!err && again) {
        again = false;
        find_regions(p);
        for (i = 0; i < p->n_values; i++)
            ferry__value_lay(&p->values[i]);
        err = retract(p, &again);
    }
    if (!err)
        err = add_borders(p);
    for (i = 0; i < p->n_values; i++)
        ferry__value_lay(&p->values[i]);
    return err;
}

/* The operations as their values lie; what was counted from the values' first elements too. */
static void finish(struct ferry__program *p)
{
    int64_t in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    uint32_t k;
    int i;

    for (i = 0; i < p->n_items; i++) {
        struct ferry__item *item = &p->items[i];
        ferry_op_desc op;

        if (item->call || item->dropped || !ferry__item_lay(p, item, &op, in, out))
            continue;
        item->op = op;
        for (k = 0; k < op.n_in; k++)
            item->in[k].start = in[k];
        for (k = 0; k < op.n_out; k++)
            item->out[k].start = out[k];
    }
}

int ferry__program_lay(struct ferry__program *p)
{
    int i, err = 0;

    for (i = 0; i < p->n_values; i++)
        ferry__value_lay(&p->values[i]);
    if (p->net->plan) {
        err = lay_regions(p);
        if (!err)
            err = ferry__program_slice(p);
    }
    if (!err)
        finish(p);
    return err;
}
