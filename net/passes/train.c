/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes passes over memory from the forward pass of a net that runs backward. All blobs have
 * their final contents at the end of the pass, but results that layers in place overwrite during it
 * are not visible, unless a pass runs a part of the net (`in_parts`):
 *
 * - Two layers that keep one value for backward, as BatchNorm its result and Scale its input, keep
 *   it once.
 * - A layer that keeps its result writes the kept blob, and not the top from which it would be
 *   copied; its input is computed there too, if no other item uses it.
 * - An activation in place joins the operation before it.
 */
#include "net/passes/passes.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>

/* The next item after `at` that uses a value; −1: none within the reach. */
static int next_user(const struct ferry__program *p, int at, int value)
{
    int i, end = p->values[value].end;

    for (i = at + 1; i <= end && i <= at + FERRY__REACH; i++)
        if (ferry__item_uses(p, &p->items[i], value))
            return i;
    return -1;
}

static int previous_user(const struct ferry__program *p, int at, int value)
{
    int i, first = p->values[value].first;

    for (i = at - 1; i >= first && i >= at - FERRY__REACH; i--)
        if (ferry__item_uses(p, &p->items[i], value))
            return i;
    return -1;
}

/* Whether an item is one operation with one result, which is the whole value. */
static bool computes(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    return !item->call && item->op.n_out == 1 && item->out[0].value == value &&
           ferry__is_whole(p, &item->op.out[0], &item->out[0]);
}

/* Whether an item reads the whole value as its first operand, and nowhere else. */
static bool reads_first(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    uint32_t k;

    for (k = 1; !item->call && k < item->op.n_in; k++)
        if (item->in[k].value == value)
            return false;
    return !item->call && item->in[0].value == value &&
           ferry__is_whole(p, &item->op.in[0], &item->in[0]);
}

static bool works_in_place(const struct ferry__program *p, const struct ferry__item *item,
                           int value)
{
    return computes(p, item, value) && reads_first(p, item, value);
}

/* Whether an item copies the whole value into a blob that its layer keeps. */
static bool keeps(const struct ferry__program *p, const struct ferry__item *item, int value)
{
    return !item->call && item->op.kind == FERRY_OP_STRIDED_COPY && reads_first(p, item, value) &&
           item->out[0].value < 0 && !item->out[0].diff && item->out[0].start == 0 &&
           ferry_operand_is_plain(&item->op.out[0]) &&
           item->op.out[0].dtype == item->op.in[0].dtype &&
           ferry_blob_element_count(item->out[0].blob) == p->values[value].count;
}

/* Notes that `item` need not keep a copy of its own. */
static int keep_once(struct ferry__program *p, struct ferry__item *item, ferry_blob *instead)
{
    struct ferry__kept *grown = realloc(p->kept, ((size_t)p->n_kept + 1) * sizeof *grown);

    if (!grown)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
    p->kept = grown;
    p->kept[p->n_kept++] =
        (struct ferry__kept){ .layer = item->layer, .own = item->out[0].blob, .instead = instead };
    item->dropped = true;
    return 0;
}

/*
 * Makes the item that computes the input of item `at`, and those that read it, use `blob` for it,
 * if item `at` replaces it in place.
 */
static void compute_there(struct ferry__program *p, int at, int value, struct ferry__use there)
{
    int from, i;
    uint32_t k;

    for (from = previous_user(p, at, value); from >= 0; from = previous_user(p, from, value))
        if (p->items[from].call || ferry__item_writes(p, &p->items[from], value))
            break;
    if (from < 0 || !computes(p, &p->items[from], value) || p->items[from].n_reads ||
        p->items[from].layer->device != p->items[at].layer->device)
        return;
    for (k = 0; k < p->items[from].op.n_in; k++)
        if (p->items[from].in[k].value == value)
            return;
    p->items[from].out[0] = there;
    for (i = from + 1; i <= at; i++)
        for (k = 0; !p->items[i].call && k < p->items[i].op.n_in; k++)
            if (p->items[i].in[k].value == value)
                p->items[i].in[k] = there;
}

/*
 * Item `at` computes a value, a copy of which is kept before an item in place overwrites it: item
 * `at` writes the kept blob instead, which the later item reads.
 */
static int write_kept(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int value = item->call ? -1 : item->out[0].value, copy, next, err = 0;
    struct ferry__use there;

    if (value < 0 || item->dropped || !computes(p, item, value))
        return 0;
    copy = next_user(p, at, value);
    if (copy < 0 || !keeps(p, &p->items[copy], value) || p->items[copy].layer != item->layer)
        return 0;
    there = p->items[copy].out[0];
    next = next_user(p, copy, value);
    if (next >= 0 && keeps(p, &p->items[next], value) &&
        p->items[next].layer->device == item->layer->device) {
        err = keep_once(p, &p->items[next], there.blob);
        next = next_user(p, next, value);
    }
    if (err || p->net->in_parts || next < 0 || !works_in_place(p, &p->items[next], value) ||
        p->items[next].layer->device != item->layer->device)
        return err;
    p->items[copy].dropped = true;
    p->items[next].in[0] = there;
    item->out[0] = there;
    if (reads_first(p, item, value))
        compute_there(p, at, value, there);
    return 0;
}

/* Joins an activation in place with the operation that computes its input. */
static int join_activation(struct ferry__program *p, int at)
{
    struct ferry__item *item = &p->items[at];
    int value = item->call ? -1 : item->out[0].value, from, joined;

    if (value < 0 || item->dropped || item->op.kind != FERRY_OP_UNARY || item->op.n_epilogue ||
        !works_in_place(p, item, value))
        return 0;
    from = previous_user(p, at, value);
    if (from < 0 || !computes(p, &p->items[from], value) ||
        p->items[from].layer->device != item->layer->device ||
        (p->items[from].op.kind != FERRY_OP_BINARY &&
         p->items[from].op.kind != FERRY_OP_CONVOLUTION &&
         p->items[from].op.kind != FERRY_OP_INNER_PRODUCT))
        return 0;
    joined = ferry__join_unary(&p->items[from], item);
    item->dropped = joined > 0;
    return joined < 0 ? joined : 0;
}

int ferry__pass_train(struct ferry__program *p)
{
    int i, err = 0;

    if (!p->net->backward || p->net->plan)
        return 0;
    p->whole = !p->net->in_parts;
    ferry__program_find_users(p);
    for (i = 0; !err && i < p->n_items; i++)
        err = write_kept(p, i);
    for (i = 0; !err && !p->net->in_parts && i < p->n_items; i++)
        err = join_activation(p, i);
    return err;
}
