/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Avoids copies of parts: a value that would be copied into a part of another value, as by Concat,
 * is computed there. A value that would be copied out of a part of another one, as by Slice, is
 * read there.
 */
#include "net/passes/passes.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <string.h>

/*
 * Whether two values are accessed by the same processor, the host or one device; otherwise neither
 * can be a slice of the other.
 */
static bool same_side(const struct ferry__item *a, const struct ferry__item *b)
{
    bool host_a = a->tier == FERRY_TIER_HOST, host_b = b->tier == FERRY_TIER_HOST;

    return host_a == host_b && (host_a || a->layer->device == b->layer->device);
}

/* The items among which all users of both values are. */
static void find_span(const struct ferry__program *p, int a, int b, int *first, int *end)
{
    const struct ferry__value *x = &p->values[a], *y = &p->values[b];

    *first = x->first < y->first ? x->first : y->first;
    *end = x->end > y->end ? x->end : y->end;
}

/* Whether all users of both values run on one processor, are operations, and are few. */
static bool on_one_side(const struct ferry__program *p, int at, int a, int b)
{
    int i, end;

    find_span(p, a, b, &i, &end);
    if (end - i > FERRY__REACH)
        return false;
    for (; i <= end; i++)
        if ((ferry__item_uses(p, &p->items[i], a) || ferry__item_uses(p, &p->items[i], b)) &&
            (p->items[i].call || !same_side(&p->items[i], &p->items[at])))
            return false;
    return true;
}

static bool is_part_copy(const struct ferry__program *p, const struct ferry__item *item, int whole)
{
    return !item->call && !item->dropped && item->op.kind == FERRY_OP_STRIDED_COPY &&
           item->out[0].value == whole && item->in[0].value != whole &&
           !ferry__is_whole(p, &item->op.out[0], &item->out[0]);
}

/*
 * Whether an item overwrites a part of `whole`, or of the value that contains it. Copies of other
 * slices write only beside the part.
 */
static bool writes_over(const struct ferry__program *p, const struct ferry__item *item, int part,
                        int whole)
{
    for (; whole >= 0; whole = p->values[whole].within)
        if (ferry__item_writes(p, item, whole) &&
            (!is_part_copy(p, item, whole) || ferry__item_uses(p, item, part)))
            return true;
    return false;
}

/*
 * Whether the part may be stored in `whole` before item `at` copies it there, until its last
 * reader: no item overwrites it in that time. Copies of other slices write only beside it.
 */
static bool can_be_computed_there(const struct ferry__program *p, int at, int part, int whole)
{
    int i, end, last = at;

    for (i = at; i <= p->values[part].end; i++)
        if (ferry__item_uses(p, &p->items[i], part))
            last = i;
    for (find_span(p, part, whole, &i, &end); i <= end; i++) {
        const struct ferry__item *item = &p->items[i];
        bool beside = is_part_copy(p, item, whole) && !ferry__item_uses(p, item, part);

        if (i < at && ferry__item_uses(p, item, whole) && !beside)
            return false;
        if (i > at && ferry__item_writes(p, item, part))
            return false;
        if (i > at && i <= last && writes_over(p, item, part, whole))
            return false;
    }
    return true;
}

/* Whether every user of the part supports the strides that it would have as a slice. */
static int users_support(const struct ferry__program *p, int part, bool *out)
{
    int64_t in_start[FERRY_OP_INPUTS], out_start[FERRY_OP_OUTPUTS];
    int i, err;

    *out = true;
    for (i = p->values[part].first; *out && i <= p->values[part].end; i++) {
        struct ferry__item *item = &p->items[i];
        ferry_operation_plan plan = { 0 };
        ferry_op_desc op;

        if (!ferry__item_uses(p, item, part))
            continue;
        *out = ferry__item_set_strides(p, item, &op, in_start, out_start) != 0;
        if (!*out)
            break;
        err = ferry__item_query(item, &op, &plan);
        if (err)
            return err;
        *out = plan.tier <= item->tier && plan.steps <= item->steps &&
               ferry__item_reaches(p, item, in_start, out_start);
    }
    return 0;
}

/* Assigns the part's strides and offset, at element `at` of the whole in row-major order. */
static bool assign_slice(struct ferry__program *p, int64_t at, int part, int whole)
{
    struct ferry__value *v = &p->values[part], *w = &p->values[whole];
    int64_t step = 1;
    int i;

    if (v->rank != w->rank || v->dtype != w->dtype)
        return false;
    v->start = 0;
    for (i = w->rank; i-- > 0; step *= w->shape[i])
        v->start += at / step % w->shape[i] * w->stride[i];
    for (i = 0; i < v->rank; i++)
        if (v->shape[i] > w->shape[i])
            return false;
    memcpy(v->stride, w->stride, sizeof v->stride);
    v->within = whole;
    return true;
}

/*
 * Whether operand `y` of a copy, at `start`, is exactly `part` in `whole`: all axes are equal
 * except one, which is shorter.
 */
static bool is_slice(const struct ferry__program *p, int part, int whole, const ferry_operand *y,
                     int64_t start)
{
    const struct ferry__value *v = &p->values[part], *w = &p->values[whole];
    int64_t plain[FERRY_OP_AXES], step = 1, outer = 1, inner = 1;
    int i, axis = -1;

    if (v->rank != w->rank || y->rank != 3 || !w->count)
        return false;
    for (i = w->rank; i-- > 0; step *= w->shape[i]) {
        plain[i] = step;
        if (v->shape[i] == w->shape[i])
            continue;
        if (axis >= 0)
            return false;
        axis = i;
    }
    if (axis < 0 || start % plain[axis] || start / plain[axis] + v->shape[axis] > w->shape[axis])
        return false;
    for (i = 0; i < axis; i++)
        outer *= v->shape[i];
    for (i = axis + 1; i < v->rank; i++)
        inner *= v->shape[i];
    return y->shape[0] == outer && y->shape[1] == v->shape[axis] && y->shape[2] == inner &&
           y->stride[2] == 1 && y->stride[1] == plain[axis] &&
           y->stride[0] == plain[axis] * w->shape[axis];
}

/*
 * Makes `part` a slice of `whole`, which replaces the copy of item `at`, if all of its users
 * support that.
 */
static int try_slice(struct ferry__program *p, int at, int part, int whole, int64_t start)
{
    struct ferry__value before = p->values[part];
    bool fits;
    int err;

    p->items[at].dropped = true;
    fits = assign_slice(p, start, part, whole);
    err = fits ? users_support(p, part, &fits) : 0;
    if (!err && fits) {
        p->values[whole].divided = true;
        return 0;
    }
    p->values[part] = before;
    p->items[at].dropped = false;
    return err;
}

/*
 * Whether a value can be a slice of another one: it is not visible outside and not a slice already.
 */
static bool may_be_slice(const struct ferry__program *p, int at, int part, int whole)
{
    const struct ferry__value *v = &p->values[part];

    return !v->own && !v->pinned && v->within < 0 && v->last == p->values[whole].last &&
           on_one_side(p, at, part, whole);
}

static int try_concat(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int part = item->in[0].value, whole = item->out[0].value;

    if (part < 0 || whole < 0 || !is_part_copy(p, item, whole) ||
        !ferry__is_whole(p, &item->op.in[0], &item->in[0]) ||
        !is_slice(p, part, whole, &item->op.out[0], item->out[0].start) ||
        !may_be_slice(p, at, part, whole) || !can_be_computed_there(p, at, part, whole))
        return 0;
    return try_slice(p, at, part, whole, item->out[0].start);
}

/*
 * ---- parts that are copied out
 * ---------------------------------------------------------------------
 */

/* Whether an item writes a value, or the value that contains it. */
static bool writes_container(const struct ferry__program *p, const struct ferry__item *item,
                             int value)
{
    for (; value >= 0; value = p->values[value].within)
        if (ferry__item_writes(p, item, value))
            return true;
    return false;
}

/*
 * Whether the part may be read inside the whole before item `at` copies it: no item writes the
 * part, and the whole does not change until the part's last reader.
 */
static bool can_be_read_there(const struct ferry__program *p, int at, int part, int whole)
{
    int i, last = at;

    for (i = p->values[part].first; i <= p->values[part].end; i++) {
        if (i != at && (ferry__item_writes(p, &p->items[i], part) ||
                        (i < at && ferry__item_uses(p, &p->items[i], part))))
            return false;
        if (ferry__item_uses(p, &p->items[i], part))
            last = i;
    }
    for (i = at + 1; i <= last; i++)
        if (writes_container(p, &p->items[i], whole))
            return false;
    return !p->values[part].divided;
}

static int try_cut(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int part = item->out[0].value, whole = item->in[0].value;

    if (part < 0 || whole < 0 || part == whole ||
        !ferry__is_whole(p, &item->op.out[0], &item->out[0]) ||
        !is_slice(p, part, whole, &item->op.in[0], item->in[0].start) ||
        !may_be_slice(p, at, part, whole) || !can_be_read_there(p, at, part, whole))
        return 0;
    return try_slice(p, at, part, whole, item->in[0].start);
}

static bool is_copy(const struct ferry__item *item)
{
    return !item->call && !item->dropped && item->op.kind == FERRY_OP_STRIDED_COPY;
}

/*
 * Makes values slices. Outer values come first, since slices inherit their strides: the last of
 * nested concatenations is the outermost.
 */
int ferry__pass_slice(struct ferry__program *p)
{
    int i, err = 0;

    ferry__program_find_users(p);
    for (i = p->net->plan ? p->n_items : 0; !err && i-- > 0;)
        if (is_copy(&p->items[i]))
            err = try_concat(p, i);
    for (i = 0; !err && p->net->plan && i < p->n_items; i++)
        if (is_copy(&p->items[i]))
            err = try_cut(p, i);
    return err;
}
