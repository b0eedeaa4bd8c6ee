/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recomputation (ferry_net_options.recompute): a value that backward reads and that cheap
 * operations compute from values that backward needs anyway, such as the result of Scale and ReLU
 * from the normalised values, is computed again before its first reader in backward, instead of
 * kept since forward. The operations are the same, and so are the results.
 */
#include "net/passes/passes.h"

#include "op/kind.h"

#include <ferry/op_types.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* Smaller values are kept. */
#define FEWEST 512
#define MOST FERRY__RECOMPUTE_MOST

/* The forward items that compute a value again, in their order. */
struct chain {
    int item[MOST];
    int n;
};

struct recomputing {
    struct ferry__program *p;
    bool *kept; /* by value: another value is computed from it, so that it stays */
    int first;  /* the item of backward that is the first to read the present value */
};

static bool is_cheap(const struct ferry__item *item)
{
    return item->op.kind == FERRY_OP_BINARY || item->op.kind == FERRY_OP_UNARY ||
           item->op.kind == FERRY_OP_POOL || item->op.kind == FERRY_OP_STRIDED_COPY;
}

/* Whether an item writes where an operand is: its value, or a blob without a value. */
static bool writes(const struct ferry__item *item, const struct ferry__use *use)
{
    uint32_t k;

    for (k = 0; k < item->op.n_out; k++)
        if (item->out[k].value == use->value &&
            (use->value >= 0 ||
             (item->out[k].blob == use->blob && item->out[k].diff == use->diff)))
            return true;
    return false;
}

/* Whether items from … end − 1 write an operand. */
static bool is_written(const struct ferry__item *items, int from, int end,
                       const struct ferry__use *use)
{
    int i;

    for (i = from; i < end; i++)
        if (ferry__item_runs(&items[i]) && writes(&items[i], use))
            return true;
    return false;
}

/* The first item of backward from `from` on that reads a value; −1: none. */
static int next_reader(const struct ferry__program *p, int from, int value)
{
    int i;

    for (i = from; i < p->n_back; i++)
        if (ferry__item_runs(&p->back[i]) && ferry__item_reads(&p->back[i], value))
            return i;
    return -1;
}

/* The only item of forward that writes a value, replacing it whole; −1 without such an item. */
static int writer_of(const struct ferry__program *p, int value)
{
    const struct ferry__use use = { .value = value };
    int i = 0;

    while (i < p->n_items && !(ferry__item_runs(&p->items[i]) && writes(&p->items[i], &use)))
        i++;
    if (i == p->n_items || is_written(p->items, i + 1, p->n_items, &use) ||
        is_written(p->back, 0, p->n_back, &use) || p->items[i].op.n_out != 1 ||
        ferry__op_reads_outputs(&p->items[i].op) || ferry__item_reads(&p->items[i], value) ||
        !ferry__is_whole(p, &p->items[i].op.out[0], &p->items[i].out[0]))
        return -1;
    return i;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Whether an input of forward item `at` has the same contents before item `first` of backward. */
static bool is_unchanged(const struct recomputing *r, int at, const struct ferry__use *use)
{
    return !is_written(r->p->items, at + 1, r->p->n_items, use) &&
           !is_written(r->p->back, 0, r->first, use);
}

/* Adds the item that computes a value, after those that compute its inputs again. */
static bool add(const struct recomputing *r, int value, struct chain *chain)
{
    const struct ferry__program *p = r->p;
    int at = writer_of(p, value);
    const struct ferry__item *item = &p->items[at < 0 ? 0 : at];
    uint32_t k;

    if (at < 0 || !is_cheap(item) || p->values[value].own ||
        item->layer->device != p->back[r->first].layer->device)
        return false;
    for (k = 0; k < item->op.n_in; k++) {
        const struct ferry__use *use = &item->in[k];

        if (use->value >= 0 && p->values[use->value].own)
            return false;
        if ((use->value < 0 || next_reader(p, r->first, use->value) >= 0) &&
            is_unchanged(r, at, use))
            continue;
        if (use->value < 0 || chain->n + 1 >= MOST || !add(r, use->value, chain))
            return false;
    }
    if (chain->n == MOST)
        return false;
    chain->item[chain->n++] = at;
    return true;
}

/* ---- inserting ------------------------------------------------------------------------------- */

/* Inserts a copy of a forward item before item `at` of backward, with a new value as its output. */
static int insert(struct recomputing *r, const struct ferry__item *from, int at)
{
    struct ferry__program *p = r->p;
    struct ferry__item *item = &p->back[at];
    int value = ferry__program_value_like(p, from->out[0].value), err;

    if (value < 0)
        return value;
    p->values[value].blob = p->values[from->out[0].value].blob;
    memmove(item + 1, item, (size_t)(p->n_back - at) * sizeof *item);
    p->n_back++;
    *item = *from;
    item->layer = item[1].layer; /* the layer that reads the value */
    item->back = true;
    item->prepared = NULL;
    item->out[0].value = value;
    err = ferry__item_choose(p, item);
    return err ? err : ferry__item_prepare(p, item);
}

/* Makes items from … end − 1 of backward read another value. */
static void read_instead(struct ferry__program *p, int from, int end, int value, int instead)
{
    uint32_t k;
    int i;

    for (i = from; i < end; i++)
        for (k = 0; ferry__item_runs(&p->back[i]) && k < p->back[i].op.n_in; k++)
            if (p->back[i].in[k].value == value)
                p->back[i].in[k].value = instead;
}

static int apply(struct recomputing *r, const struct chain *chain)
{
    struct ferry__program *p = r->p;
    int i, k, at = r->first, err = 0;
    uint32_t j;

    for (i = 0; !err && i < chain->n; i++) {
        const struct ferry__item *from = &p->items[chain->item[i]];

        err = insert(r, from, at + i);
        for (k = 0; !err && k < i; k++)
            read_instead(p, at + i, at + i + 1, p->items[chain->item[k]].out[0].value,
                         p->back[at + k].out[0].value);
        for (j = 0; !err && j < from->op.n_in; j++)
            if (from->in[j].value >= 0)
                r->kept[from->in[j].value] = true;
        if (!err)
            read_instead(p, at + i + 1, p->n_back, from->out[0].value,
                         p->back[at + i].out[0].value);
    }
    return err;
}

/* Computes the result of a forward item again, if that saves memory. */
static int consider(struct recomputing *r, int at)
{
    const struct ferry__item *item = &r->p->items[at];
    struct chain chain = { .n = 0 };
    int value = ferry__item_runs(item) && item->op.n_out == 1 ? item->out[0].value : -1;

    if (value < 0 || r->kept[value] || r->p->values[value].count < FEWEST)
        return 0;
    r->first = next_reader(r->p, 0, value);
    return r->first >= 0 && add(r, value, &chain) ? apply(r, &chain) : 0;
}

int ferry__recompute(struct ferry__program *p)
{
    struct recomputing r = { .p = p };
    int i, room = p->n_back + MOST * p->n_items, err = 0;
    struct ferry__item *grown = realloc(p->back, ((size_t)room + 1) * sizeof *grown);

    if (!grown)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
    p->back = grown;
    r.kept = calloc((size_t)(p->n_values + MOST * p->n_items) + 1, sizeof *r.kept);
    if (!r.kept)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its plan");
    for (i = 0; !err && i < p->n_items; i++)
        err = consider(&r, i);
    free(r.kept);
    return err;
}
