/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/passes/quantize_classes.h"
#include "net/passes/quantize_items.h"

#include <ferry/op.h>

#include <math.h>

const struct ferry__grid ferry__reals = { FERRY_F32, 1, 0 };

/* ---- values ---------------------------------------------------------------------------------- */

bool ferry__value_range(const struct ferry__program *p, int value, float *least, float *most)
{
    const struct ferry__value *v = &p->values[value];
    const struct ferry__net_blob *b = v->index < 0 ? NULL : &p->net->blobs[v->index];

    if (!b || !b->has_range || v->dtype != FERRY_F32)
        return false;
    *least = b->least;
    *most = b->most;
    return true;
}

bool ferry__value_is_final(const struct ferry__program *p, int at, int value)
{
    return p->values[value].written < at;
}

static int class_of(const struct ferry__quantizer *q, int value)
{
    while (q->values[value].of != value)
        value = q->values[value].of;
    return value;
}

bool ferry__value_is_stored(const struct ferry__quantizer *q, int value, struct ferry__grid *out)
{
    const struct ferry__member *c;

    *out = ferry__reals;
    if (value < 0 || value >= q->n_values || !q->values[value].is_member)
        return false;
    c = &q->values[class_of(q, value)];
    if (c->is_stored)
        *out = ferry__grid_of(c->least, c->most, !c->is_padded);
    return c->is_stored;
}

static void join(struct ferry__quantizer *q, int a, int b)
{
    struct ferry__member *to, *from;

    if (a < 0 || b < 0 || !q->values[a].is_member || !q->values[b].is_member)
        return;
    a = class_of(q, a);
    b = class_of(q, b);
    if (a == b)
        return;
    to = &q->values[a];
    from = &q->values[b];
    from->of = a;
    to->least = fminf(to->least, from->least);
    to->most = fmaxf(to->most, from->most);
    to->narrowest = fminf(to->narrowest, from->narrowest);
    to->is_padded = to->is_padded || from->is_padded;
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool may_be_member(const struct ferry__quantizer *q, int value)
{
    const struct ferry__value *v = &q->p->values[value];
    float least, most;

    return !v->pinned && !v->own && ferry__value_range(q->p, value, &least, &most);
}

static void begin_classes(struct ferry__quantizer *q)
{
    int v, i;

    for (v = 0; v < q->n_values; v++) {
        struct ferry__member *m = &q->values[v];

        *m = (struct ferry__member){ .of = v, .integers = -1, .reals = -1 };
        m->is_member = may_be_member(q, v);
        if (m->is_member)
            ferry__value_range(q->p, v, &m->least, &m->most);
        m->narrowest = m->most - m->least;
    }
    for (i = 0; i < q->p->n_items; i++)
        if (ferry__item_pads(&q->p->items[i]) && q->p->items[i].in[0].value >= 0)
            q->values[q->p->items[i].in[0].value].is_padded = true;
    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];

        if (ferry__item_is_copy(item) || (ferry__item_is_pool(item, FERRY_POOL_MAX) &&
                                          ferry__is_whole(q->p, &item->op.in[0], &item->in[0]) &&
                                          ferry__is_whole(q->p, &item->op.out[0], &item->out[0])))
            join(q, item->in[0].value, item->out[0].value);
    }
}

/* Whether an item that is not a product reads integers if it writes them. */
static bool passes_integers(const struct ferry__quantizer *q, int at)
{
    return q->affine[at] == FERRY__AFFINE_OF_BOTH ||
           ferry__item_is_pool(&q->p->items[at], FERRY_POOL_AVERAGE);
}

/* Whether an item may write a value as integers, given the current classes. */
static bool may_write(const struct ferry__quantizer *q, int at, bool is_product)
{
    const struct ferry__item *item = &q->p->items[at];
    struct ferry__grid grid;

    return is_product || q->affine[at] != FERRY__AFFINE_NOT || ferry__item_is_copy(item) ||
           ((ferry__item_is_pool(item, FERRY_POOL_MAX) ||
             ferry__item_is_pool(item, FERRY_POOL_AVERAGE)) &&
            ferry__value_is_stored(q, item->in[0].value, &grid));
}

/*
 * Removes the class of a value that an item cannot write as integers, or that is written twice.
 * Returns whether a class was removed.
 */
static bool drop_classes(struct ferry__quantizer *q, const bool *products)
{
    struct ferry__grid grid;
    bool any = false;
    uint32_t k;
    int i;

    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];

        for (k = 0; !item->call && !item->dropped && k < item->op.n_out; k++) {
            int value = item->out[k].value;

            if (!ferry__value_is_stored(q, value, &grid) ||
                (may_write(q, i, products[i]) &&
                 (ferry__item_is_copy(item) || ferry__value_is_final(q->p, i + 1, value))))
                continue;
            q->values[class_of(q, value)].is_stored = false;
            any = true;
        }
    }
    return any;
}

/* Whether item `at` would need a copy as F32 of a value of a class that no product reads. */
static bool needs_reals(const struct ferry__quantizer *q, int at)
{
    const struct ferry__item *item = &q->p->items[at];
    struct ferry__grid grid;

    if (ferry__item_is_copy(item) || ferry__item_is_pool(item, FERRY_POOL_MAX) ||
        ferry__item_is_pool(item, FERRY_POOL_AVERAGE))
        return false;
    return q->affine[at] != FERRY__AFFINE_OF_BOTH ||
           !ferry__value_is_stored(q, item->out[0].value, &grid);
}

/* Removes optional classes of which an item would need a copy. Returns whether one was removed. */
static bool drop_optional(struct ferry__quantizer *q)
{
    struct ferry__grid grid;
    bool any = false;
    uint32_t k;
    int i;

    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];

        for (k = 0; !item->call && !item->dropped && k < item->op.n_in; k++) {
            int value = item->in[k].value;

            if (!ferry__value_is_stored(q, value, &grid) ||
                !q->values[class_of(q, value)].is_optional || !needs_reals(q, i))
                continue;
            q->values[class_of(q, value)].is_stored = false;
            any = true;
        }
    }
    return any;
}

static bool is_depthwise(const struct ferry__item *item)
{
    return item->op.kind == FERRY_OP_CONVOLUTION && item->op.params.window.group > 1 &&
           item->op.params.window.group == item->op.in[0].shape[1];
}

/*
 * Removes depthwise convolutions that would read copies as integers: a copy costs as much as such a
 * convolution gains. Returns whether one was removed.
 */
static bool drop_products(const struct ferry__quantizer *q, bool *products)
{
    struct ferry__grid grid;
    bool any = false;
    int i;

    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];

        if (products[i] && is_depthwise(item) &&
            !ferry__value_is_stored(q, item->in[0].value, &grid)) {
            products[i] = false;
            any = true;
        }
    }
    return any;
}

static void store_class(struct ferry__quantizer *q, int value)
{
    if (value >= 0 && value < q->n_values && q->values[value].is_member)
        q->values[class_of(q, value)].is_stored = true;
}

/* Stores the classes of the values that a product reads and adds. */
static void store_read(struct ferry__quantizer *q, const struct ferry__item *item)
{
    int added;

    store_class(q, item->in[0].value);
    ferry__product_steps(&item->op, &added);
    if (added >= 0)
        store_class(q, item->in[added].value);
}

/* Whether the values of a class lose at most two bits by their common scale. */
static bool is_similar(const struct ferry__member *c)
{
    return c->most - c->least <= 4 * c->narrowest;
}

/*
 * Stores the classes that averages, and scales and shifts of channels, read whose results are
 * stored. Returns whether there was one.
 */
static bool store_optional(struct ferry__quantizer *q)
{
    struct ferry__grid grid;
    bool any = false;
    int i;

    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];
        int value = item->in[0].value;

        if (!passes_integers(q, i) || !ferry__value_is_stored(q, item->out[0].value, &grid) ||
            ferry__value_is_stored(q, value, &grid) || value < 0 || !q->values[value].is_member ||
            !is_similar(&q->values[class_of(q, value)]))
            continue;
        store_class(q, value);
        q->values[class_of(q, value)].is_optional = true;
        any = true;
    }
    return any;
}

void ferry__classes_choose(struct ferry__quantizer *q, bool *products)
{
    int i;

    begin_classes(q);
    do {
        for (i = 0; i < q->n_values; i++)
            q->values[i].is_stored = q->values[i].is_optional = false;
        for (i = 0; i < q->p->n_items; i++)
            if (products[i])
                store_read(q, &q->p->items[i]);
        while (store_optional(q))
            ;
        while (drop_classes(q, products) || drop_optional(q))
            ;
    } while (drop_products(q, products));
}
