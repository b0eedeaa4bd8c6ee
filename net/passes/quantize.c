/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes convolutions and inner products with integers of 8 bits, if the ranges of the blobs that
 * they read are known (net/model/ranges.h) and the device is faster with integers than with F32.
 *
 * quantize_classes.h describes the values that are stored as integers. A product that reads another
 * value reads a copy as integers, and other readers of integers read a copy as F32.
 */
#include "net/passes/integers.h"
#include "net/passes/quantize_classes.h"
#include "net/passes/quantize_items.h"

#include "op/operation.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its integers");
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
        !ferry__value_range(p, item->in[0].value, &least, &most) ||
        !ferry__value_is_final(p, at, item->in[0].value) || !ferry__product_has_room(&item->op))
        return 0;
    ferry__product_describe(item, ferry__grid_of(least, most, false), ferry__reals, ferry__reals,
                            &op, &unit);
    return ferry__product_gains(item, &op, out);
}

/* Whether the device can copy a scale and a shift of an item to integers, from that grid. */
static int affine_gains(const struct ferry__program *p, const struct ferry__item *item,
                        struct ferry__grid in, bool *out)
{
    float least = 0, most = 0;
    ferry_op_desc op;

    *out = false;
    if (!ferry__value_range(p, item->out[0].value, &least, &most) ||
        !ferry__affine_describe(p, item, in, ferry__grid_of(least, most, false), &op))
        return 0;
    return ferry__product_gains(item, &op, out);
}

/* Examines item `at`, which may be a scale and a shift of channels. */
static int find_affine(struct ferry__program *p, int at, enum ferry__affine *out)
{
    const struct ferry__item *item = &p->items[at];
    float least, most;
    bool gains;
    int err;

    *out = FERRY__AFFINE_NOT;
    if (!ferry__item_is_affine(p, item))
        return 0;
    err = affine_gains(p, item, ferry__reals, &gains);
    if (err || !gains)
        return err;
    *out = FERRY__AFFINE_OF_REALS;
    if (!ferry__value_range(p, item->in[0].value, &least, &most))
        return 0;
    err = affine_gains(p, item, ferry__grid_of(least, most, false), &gains);
    if (!err && gains)
        *out = FERRY__AFFINE_OF_BOTH;
    return err;
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

/* Inserts a converting copy of a value before item `at`. */
static int insert_copy(struct ferry__quantizer *q, int at, int value, struct ferry__grid from,
                       struct ferry__grid to)
{
    struct ferry__program *p = q->p;
    ferry_layer *layer = p->items[at].layer;
    int made = ferry__program_value_like(p, value), err;
    const struct ferry__value *v;
    struct ferry__item *item;

    if (made < 0)
        return made;
    p->values[made].dtype = to.dtype;
    item = ferry__program_insert(p, at);
    if (!item)
        return FERRY_ENOMEM;
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
static int copy_as_integers(struct ferry__quantizer *q, int at, int value, struct ferry__grid grid)
{
    int *made = &q->values[value].integers;

    if (*made < 0)
        *made = insert_copy(q, at, value, ferry__reals, grid);
    return *made;
}

static int copy_as_reals(struct ferry__quantizer *q, int at, int value, struct ferry__grid grid)
{
    int *made = &q->values[value].reals;

    if (*made < 0)
        *made = insert_copy(q, at, value, grid, ferry__reals);
    return *made;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

/*
 * Gets the grid of the ADD operand; if the steps do not allow its scale, or its zero, which the
 * bias cancels before the steps, the item reads a copy as F32.
 */
static int take_added(struct ferry__quantizer *q, int at, struct ferry__grid *out)
{
    const ferry_op_desc *op = &q->p->items[at].op;
    int added, made;
    bool all = ferry__product_steps(op, &added);

    *out = ferry__reals;
    if (added < 0 || !ferry__value_is_stored(q, q->p->items[at].in[added].value, out))
        return 0;
    if (all && (out->zero == 0 || op->epilogue[0].step == FERRY_STEP_ADD))
        return 0;
    made = copy_as_reals(q, at, q->p->items[at].in[added].value, *out);
    *out = ferry__reals;
    if (made >= 0)
        q->p->items[at].in[added].value = made;
    return made < 0 ? made : 0;
}

/* Makes the constants of item `at`, and sets its inputs to them. */
static int take_constants(struct ferry__quantizer *q, int at, const ferry_op_desc *op,
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

    item->integers = ferry__integers_of(&like);
    if (!item->integers)
        return no_memory();
    for (i = item->op.n_in; i-- > own;)
        item->in[i + shift] = item->in[i];
    for (i = 0; i < 3; i++)
        item->in[i + 1] = (struct ferry__use){ .value = -1, .blob = item->integers->made[i] };
    item->op = *op;
    return ferry__item_choose(q->p, item);
}

static int rewrite_product(struct ferry__quantizer *q, int at)
{
    int value = q->p->items[at].in[0].value, made = value, err;
    struct ferry__grid in, out, add;
    float least = 0, most = 0, unit;
    struct ferry__item *item;
    ferry_op_desc op;

    if (!ferry__value_is_stored(q, value, &in)) {
        ferry__value_range(q->p, value, &least, &most);
        in = ferry__grid_of(least, most, !q->values[value].is_padded);
        made = copy_as_integers(q, at, value, in);
    }
    err = made < 0 ? made : take_added(q, at, &add);
    if (err)
        return err;
    item = &q->p->items[at];
    item->in[0].value = made;
    ferry__value_is_stored(q, item->out[0].value, &out);
    ferry__product_describe(item, in, out, add, &op, &unit);
    return take_constants(q, at, &op, in, unit, add.zero);
}

/* Rewrites a pooling or a copy: sets its dtypes, and a factor between two scales. */
static int rewrite_other(struct ferry__quantizer *q, int at)
{
    struct ferry__item *item = &q->p->items[at];
    struct ferry__grid in, out;

    ferry__value_is_stored(q, item->in[0].value, &in);
    ferry__value_is_stored(q, item->out[0].value, &out);
    item->op.in[0].dtype = in.dtype;
    item->op.out[0].dtype = out.dtype;
    if (in.scale != out.scale || in.zero != out.zero)
        convert(&item->op, in, out);
    return ferry__item_choose(q->p, item);
}

/* Gives an item that computes in F32 copies of the integers that it reads. */
static int rewrite_readers(struct ferry__quantizer *q, int at)
{
    struct ferry__grid grid;
    uint32_t k;

    for (k = 0; k < q->p->items[at].op.n_in; k++) {
        int value = q->p->items[at].in[k].value, made;

        if (!ferry__value_is_stored(q, value, &grid))
            continue;
        made = copy_as_reals(q, at, value, grid);
        if (made < 0)
            return made;
        q->p->items[at].in[k].value = made;
    }
    return 0;
}

/* Rewrites an affine function, which writes integers if the value is stored so. */
static int rewrite_affine(struct ferry__quantizer *q, int at, enum ferry__affine can)
{
    struct ferry__item *item = &q->p->items[at];
    struct ferry__grid in = ferry__reals, out;
    bool writes = ferry__value_is_stored(q, item->out[0].value, &out);
    ferry_op_desc op;
    int err;

    if (writes && can == FERRY__AFFINE_OF_BOTH)
        ferry__value_is_stored(q, item->in[0].value, &in);
    if (in.dtype == FERRY_F32 || !ferry__affine_describe(q->p, item, in, out, &op)) {
        err = rewrite_readers(q, at);
        if (err || !writes)
            return err;
        item = &q->p->items[at];
        ferry__affine_describe(q->p, item, ferry__reals, out, &op);
    }
    item->op = op;
    return ferry__item_choose(q->p, item);
}

static int rewrite(struct ferry__quantizer *q, int at, bool is_product, enum ferry__affine affine)
{
    const struct ferry__item *item = &q->p->items[at];
    struct ferry__grid grid;
    bool moves = ferry__item_is_copy(item) || ferry__item_is_pool(item, FERRY_POOL_MAX) ||
                 ferry__item_is_pool(item, FERRY_POOL_AVERAGE);

    if (item->call || item->dropped)
        return 0;
    if (is_product)
        return rewrite_product(q, at);
    if (affine != FERRY__AFFINE_NOT)
        return rewrite_affine(q, at, affine);
    if (moves && (ferry__value_is_stored(q, item->in[0].value, &grid) ||
                  ferry__value_is_stored(q, item->out[0].value, &grid)))
        return rewrite_other(q, at);
    return rewrite_readers(q, at);
}

/* Sets the dtypes of the values of classes, after their operations are rewritten. */
static void store_classes(struct ferry__quantizer *q)
{
    struct ferry__grid grid;
    int v;

    for (v = 0; v < q->n_values; v++)
        if (ferry__value_is_stored(q, v, &grid))
            q->p->values[v].dtype = grid.dtype;
}

static int quantize(struct ferry__quantizer *q, bool *products)
{
    int n = q->p->n_items, i, err = 0;

    ferry__program_find_users(q->p);
    for (i = 0; !err && i < n; i++) {
        err = is_product(q->p, i, &products[i]);
        if (!err)
            err = find_affine(q->p, i, &q->affine[i]);
    }
    if (err)
        return err;
    ferry__classes_choose(q, products);
    for (i = 0; !err && i < n; i++)
        err = rewrite(q, i, products[i], q->affine[i]);
    if (!err)
        err = ferry__program_insert_all(q->p);
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
    struct ferry__quantizer q = { .p = p, .n_values = p->n_values };
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
