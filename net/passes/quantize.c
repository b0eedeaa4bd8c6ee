/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes convolutions and inner products with integers of 8 bits, if the ranges of the blobs that
 * they read are known (net/model/ranges.h) and the device is faster with integers than with F32.
 *
 * Max pooling and concatenation do not change the scale, so the values that they connect form a
 * class with one scale. A class is stored as integers if a product reads or adds it, and only
 * products with integers, pooling, copies, and scales and shifts of channels (BatchNorm before a
 * product) write it; a product that reads another value reads a copy as integers. Other readers of
 * integers read a copy as F32.
 */
#include "net/passes/integers.h"
#include "net/passes/quantize_items.h"

#include "op/operation.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The grid of a value that is stored as F32. */
static const struct ferry__grid reals = { FERRY_F32, 1, 0 };

/* The state of a value in this pass. */
struct member {
    int of;              /* the parent in the tree of its class (union-find); the first value of
                          * a class is its own parent */
    bool is_member;      /* it may be stored as integers */
    bool is_stored;      /* for a class: its values are stored as integers */
    bool is_padded;      /* a reader of it, or of its class, reads padding */
    float least, most;   /* for a class: its range */
    int integers, reals; /* the indices of its copies as integers and as F32; −1: none */
};

struct quantizer {
    struct ferry__program *p;
    struct member *values;
    int n_values; /* the number of values that existed before the pass */
    bool *affine; /* for each item: its device can copy a scale and a shift of it to integers */
};

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its integers");
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The known range of the contents of a value. */
static bool find_range(const struct ferry__program *p, int value, float *least, float *most)
{
    const struct ferry__value *v = &p->values[value];
    const struct ferry__net_blob *b = v->index < 0 ? NULL : &p->net->blobs[v->index];

    if (!b || !b->has_range || v->dtype != FERRY_F32)
        return false;
    *least = b->least;
    *most = b->most;
    return true;
}

/* Whether no item from `at` on writes a value. */
static bool is_final(const struct ferry__program *p, int at, int value)
{
    for (; at < p->n_items; at++)
        if (ferry__item_writes(p, &p->items[at], value))
            return false;
    return true;
}

static int class_of(const struct quantizer *q, int value)
{
    while (q->values[value].of != value)
        value = q->values[value].of;
    return value;
}

/* Whether a value is stored as integers; *out is its grid, or the grid of F32 values. */
static bool is_stored(const struct quantizer *q, int value, struct ferry__grid *out)
{
    const struct member *c;

    *out = reals;
    if (value < 0 || value >= q->n_values || !q->values[value].is_member)
        return false;
    c = &q->values[class_of(q, value)];
    if (c->is_stored)
        *out = ferry__grid_of(c->least, c->most, !c->is_padded);
    return c->is_stored;
}

static void join(struct quantizer *q, int a, int b)
{
    struct member *to, *from;

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
    to->is_padded = to->is_padded || from->is_padded;
}

/* Whether item `at` can be a product with integers; its device decides. */
static int is_product(struct ferry__program *p, int at, bool *out)
{
    struct ferry__item *item = &p->items[at];
    bool is_kind =
        ferry__item_is(item, FERRY_OP_INNER_PRODUCT) ||
        (ferry__item_is(item, FERRY_OP_CONVOLUTION) && !item->op.params.window.transposed);
    float least, most, unit;
    ferry_op_desc op;

    *out = false;
    if (!is_kind || item->layer->float_only || item->in[0].value < 0 || item->out[0].value < 0 ||
        !ferry__product_has_constants(item) || !ferry__is_whole(p, &item->op.in[0], &item->in[0]) ||
        !ferry__is_whole(p, &item->op.out[0], &item->out[0]) ||
        !find_range(p, item->in[0].value, &least, &most) || !is_final(p, at, item->in[0].value) ||
        !ferry__product_has_room(&item->op))
        return 0;
    ferry__product_describe(item, ferry__grid_of(least, most, false), reals, reals, &op, &unit);
    return ferry__product_gains(item, &op, out);
}

/* Whether item `at` can be a copy to integers with a scale and a shift; its device decides. */
static int is_affine(struct ferry__program *p, int at, bool *out)
{
    const struct ferry__item *item = &p->items[at];
    float least, most;
    ferry_op_desc op;

    *out = false;
    if (!ferry__item_is_affine(p, item) || !find_range(p, item->out[0].value, &least, &most))
        return 0;
    ferry__affine_describe(p, item, ferry__grid_of(least, most, false), &op);
    return ferry__product_gains(item, &op, out);
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool may_be_member(const struct quantizer *q, int value)
{
    const struct ferry__value *v = &q->p->values[value];
    float least, most;

    return !v->pinned && !v->own && find_range(q->p, value, &least, &most);
}

static void begin_classes(struct quantizer *q)
{
    int v, i;

    for (v = 0; v < q->n_values; v++) {
        struct member *m = &q->values[v];

        *m = (struct member){ .of = v, .integers = -1, .reals = -1 };
        m->is_member = may_be_member(q, v);
        if (m->is_member)
            find_range(q->p, v, &m->least, &m->most);
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

/* Whether an item may write a value as integers, given the current classes. */
static bool may_write(const struct quantizer *q, int at, bool is_product)
{
    const struct ferry__item *item = &q->p->items[at];
    struct ferry__grid grid;

    return is_product || q->affine[at] || ferry__item_is_copy(item) ||
           ((ferry__item_is_pool(item, FERRY_POOL_MAX) ||
             ferry__item_is_pool(item, FERRY_POOL_AVERAGE)) &&
            is_stored(q, item->in[0].value, &grid));
}

/*
 * Removes the class of a value that an item cannot write as integers, or that is written twice.
 * Returns whether a class was removed.
 */
static bool drop_classes(struct quantizer *q, const bool *products)
{
    struct ferry__grid grid;
    bool any = false;
    uint32_t k;
    int i;

    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];

        for (k = 0; !item->call && !item->dropped && k < item->op.n_out; k++) {
            int value = item->out[k].value;

            if (!is_stored(q, value, &grid) ||
                (may_write(q, i, products[i]) &&
                 (ferry__item_is_copy(item) || is_final(q->p, i + 1, value))))
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
static bool drop_products(const struct quantizer *q, bool *products)
{
    struct ferry__grid grid;
    bool any = false;
    int i;

    for (i = 0; i < q->p->n_items; i++) {
        const struct ferry__item *item = &q->p->items[i];

        if (products[i] && is_depthwise(item) && !is_stored(q, item->in[0].value, &grid)) {
            products[i] = false;
            any = true;
        }
    }
    return any;
}

static void store_class(struct quantizer *q, int value)
{
    if (value >= 0 && value < q->n_values && q->values[value].is_member)
        q->values[class_of(q, value)].is_stored = true;
}

/* Stores the classes of the values that a product reads and adds. */
static void store_read(struct quantizer *q, const struct ferry__item *item)
{
    int added;

    store_class(q, item->in[0].value);
    ferry__product_steps(&item->op, &added);
    if (added >= 0)
        store_class(q, item->in[added].value);
}

static void choose_classes(struct quantizer *q, bool *products)
{
    int i;

    do {
        for (i = 0; i < q->n_values; i++)
            q->values[i].is_stored = false;
        for (i = 0; i < q->p->n_items; i++)
            if (products[i])
                store_read(q, &q->p->items[i]);
        while (drop_classes(q, products))
            ;
    } while (drop_products(q, products));
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Makes an item convert integers, or F32, of one grid to another. */
static void convert(ferry_op_desc *op, struct ferry__grid from, struct ferry__grid to)
{
    double factor = (double)from.scale / (double)to.scale;

    op->n_epilogue = 1;
    op->epilogue[0] = (ferry_op_step){ .step = FERRY_STEP_UNARY,
                                       .function = FERRY_UNARY_POWER,
                                       .a = 1,
                                       .b = factor,
                                       .c = (double)to.zero - (double)from.zero * factor };
}

/* Inserts a converting copy of a value before item *at; *at becomes that item's new index. */
static int insert_copy(struct quantizer *q, int *at, int value, struct ferry__grid from,
                       struct ferry__grid to)
{
    struct ferry__program *p = q->p;
    ferry_layer *layer = p->items[*at].layer;
    int made = ferry__program_value_like(p, value), err;
    const struct ferry__value *v;
    struct ferry__item *item;

    if (made < 0)
        return made;
    p->values[made].dtype = to.dtype;
    item = ferry__program_insert(p, *at);
    if (!item)
        return FERRY_ENOMEM;
    ++*at;
    v = &p->values[value];
    item->layer = layer;
    item->number = -1;
    ferry_op_desc_init(&item->op, FERRY_OP_STRIDED_COPY);
    item->op.n_in = item->op.n_out = 1;
    item->op.in[0] = ferry_operand_make((ferry_dtype)from.dtype, v->shape, v->rank, NULL);
    item->op.out[0] = ferry_operand_make((ferry_dtype)to.dtype, v->shape, v->rank, NULL);
    convert(&item->op, from, to);
    item->in[0] = (struct ferry__use){ .value = value };
    item->out[0] = (struct ferry__use){ .value = made };
    err = ferry__item_choose(p, item);
    return err ? err : made;
}

/* The index of the value's copy as integers, which is made at the first call; or an error. */
static int copy_as_integers(struct quantizer *q, int *at, int value, struct ferry__grid grid)
{
    int *made = &q->values[value].integers;

    if (*made < 0)
        *made = insert_copy(q, at, value, reals, grid);
    return *made;
}

static int copy_as_reals(struct quantizer *q, int *at, int value, struct ferry__grid grid)
{
    int *made = &q->values[value].reals;

    if (*made < 0)
        *made = insert_copy(q, at, value, grid, reals);
    return *made;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

/*
 * Gets the grid of the ADD operand; if the steps do not allow its scale, or its zero, which the
 * bias cancels before the steps, the item reads a copy as F32.
 */
static int take_added(struct quantizer *q, int *at, struct ferry__grid *out)
{
    const ferry_op_desc *op = &q->p->items[*at].op;
    int added, made;
    bool all = ferry__product_steps(op, &added);

    *out = reals;
    if (added < 0 || !is_stored(q, q->p->items[*at].in[added].value, out))
        return 0;
    if (all && (out->zero == 0 || op->epilogue[0].step == FERRY_STEP_ADD))
        return 0;
    made = copy_as_reals(q, at, q->p->items[*at].in[added].value, *out);
    *out = reals;
    if (made >= 0)
        q->p->items[*at].in[added].value = made;
    return made < 0 ? made : 0;
}

/* Makes the constants of item `at`, and sets its inputs to them. */
static int take_constants(struct quantizer *q, int at, const ferry_op_desc *op,
                          struct ferry__grid x, float unit, float add_zero)
{
    struct ferry__item *item = &q->p->items[at];
    uint32_t own = ferry_op_own_inputs(&item->op), shift = own == 2 ? 2 : 1, i;
    struct ferry__integers like = { .layer = item->layer,
                                    .number = item->number,
                                    .w = item->op.in[1],
                                    .weights = item->in[1].blob,
                                    .bias = own > 2 ? item->in[2].blob : NULL,
                                    .x_scale = x.scale,
                                    .unit = unit,
                                    .x_zero = x.zero,
                                    .add_zero = add_zero };

    item->integers = ferry__integers_of(q->p->net, &like);
    if (!item->integers)
        return no_memory();
    for (i = item->op.n_in; i-- > own;)
        item->in[i + shift] = item->in[i];
    for (i = 0; i < 3; i++)
        item->in[i + 1] = (struct ferry__use){ .value = -1, .blob = item->integers->made[i] };
    item->op = *op;
    return ferry__item_choose(q->p, item);
}

static int rewrite_product(struct quantizer *q, int *at)
{
    int value = q->p->items[*at].in[0].value, made = value, err;
    struct ferry__grid in, out, add;
    float least = 0, most = 0, unit;
    struct ferry__item *item;
    ferry_op_desc op;

    if (!is_stored(q, value, &in)) {
        find_range(q->p, value, &least, &most);
        in = ferry__grid_of(least, most, !q->values[value].is_padded);
        made = copy_as_integers(q, at, value, in);
    }
    err = made < 0 ? made : take_added(q, at, &add);
    if (err)
        return err;
    item = &q->p->items[*at];
    item->in[0].value = made;
    is_stored(q, item->out[0].value, &out);
    ferry__product_describe(item, in, out, add, &op, &unit);
    return take_constants(q, *at, &op, in, unit, add.zero);
}

/* Rewrites a pooling or a copy: sets its dtypes, and a factor between two scales. */
static int rewrite_other(struct quantizer *q, int at)
{
    struct ferry__item *item = &q->p->items[at];
    struct ferry__grid in, out;

    is_stored(q, item->in[0].value, &in);
    is_stored(q, item->out[0].value, &out);
    item->op.in[0].dtype = in.dtype;
    item->op.out[0].dtype = out.dtype;
    if (in.scale != out.scale || in.zero != out.zero)
        convert(&item->op, in, out);
    return ferry__item_choose(q->p, item);
}

/* Gives an item that computes in F32 copies of the integers that it reads. */
static int rewrite_readers(struct quantizer *q, int *at)
{
    struct ferry__grid grid;
    uint32_t k;

    for (k = 0; k < q->p->items[*at].op.n_in; k++) {
        int value = q->p->items[*at].in[k].value, made;

        if (!is_stored(q, value, &grid))
            continue;
        made = copy_as_reals(q, at, value, grid);
        if (made < 0)
            return made;
        q->p->items[*at].in[k].value = made;
    }
    return 0;
}

/* Rewrites an affine function that writes integers. */
static int rewrite_affine(struct quantizer *q, int *at)
{
    int err = rewrite_readers(q, at);
    struct ferry__item *item = &q->p->items[*at];
    struct ferry__grid grid;
    ferry_op_desc op;

    if (err || !is_stored(q, item->out[0].value, &grid))
        return err;
    ferry__affine_describe(q->p, item, grid, &op);
    item->op = op;
    return ferry__item_choose(q->p, item);
}

static int rewrite(struct quantizer *q, int *at, bool is_product, bool is_affine)
{
    const struct ferry__item *item = &q->p->items[*at];
    struct ferry__grid grid;
    bool moves = ferry__item_is_copy(item) || ferry__item_is_pool(item, FERRY_POOL_MAX) ||
                 ferry__item_is_pool(item, FERRY_POOL_AVERAGE);

    if (item->call || item->dropped)
        return 0;
    if (is_product)
        return rewrite_product(q, at);
    if (is_affine)
        return rewrite_affine(q, at);
    if (moves &&
        (is_stored(q, item->in[0].value, &grid) || is_stored(q, item->out[0].value, &grid)))
        return rewrite_other(q, *at);
    return rewrite_readers(q, at);
}

/* Sets the dtypes of the values of classes, after their operations are rewritten. */
static void store_classes(struct quantizer *q)
{
    struct ferry__grid grid;
    int v;

    for (v = 0; v < q->n_values; v++)
        if (is_stored(q, v, &grid))
            q->p->values[v].dtype = grid.dtype;
}

static int quantize(struct quantizer *q, bool *products)
{
    int n = q->p->n_items, i, at, err = 0;

    for (i = 0; !err && i < n; i++) {
        err = is_product(q->p, i, &products[i]);
        if (!err)
            err = is_affine(q->p, i, &q->affine[i]);
    }
    if (err)
        return err;
    begin_classes(q);
    choose_classes(q, products);
    for (i = at = 0; !err && i < n; i++, at++)
        err = rewrite(q, &at, products[i], q->affine[i]);
    store_classes(q);
    return err;
}

/* Whether the program may be quantized: programs with segments and with backward passes are not. */
static bool may_quantize(const struct ferry__program *p)
{
    const ferry_net *net = p->net;

    return net->quantize && net->plan && net->fuse && !net->backward && !p->claims && p->n_items;
}

int ferry__pass_quantize(struct ferry__program *p)
{
    struct quantizer q = { .p = p, .n_values = p->n_values };
    bool *products;
    int err;

    if (!may_quantize(p))
        return 0;
    q.values = calloc((size_t)q.n_values + 1, sizeof *q.values);
    products = calloc((size_t)p->n_items, sizeof *products);
    q.affine = calloc((size_t)p->n_items, sizeof *q.affine);
    err = q.values && products && q.affine ? quantize(&q, products) : no_memory();
    free(q.affine);
    free(products);
    free(q.values);
    return err;
}
