/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the items and values of a program from the emitted operations. */
#include "net/passes/passes.h"

#include "net/model/emitted.h"

#include <ferry/op_types.h>
#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for its operations");
}

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * Creates the value of a blob's contents; a blob with more axes than operands support becomes a row
 * of elements.
 */
static int new_value(struct ferry__program *p, ferry_blob *blob, int index)
{
    struct ferry__value *v = ferry__program_append(p);
    int i;

    if (!v)
        return FERRY_ENOMEM;
    v->blob = blob;
    v->index = index;
    v->within = -1;
    v->dtype = (uint32_t)ferry_blob_dtype(blob);
    v->count = ferry_blob_element_count(blob);
    v->rank = ferry_blob_rank(blob);
    for (i = 0; i < v->rank && v->rank <= FERRY_OP_AXES; i++)
        v->shape[i] = ferry_blob_dim(blob, i);
    if (v->rank < 1 || v->rank > FERRY_OP_AXES) {
        v->rank = 1;
        v->shape[0] = v->count;
        v->plain = true;
    }
    return p->n_values - 1;
}

static int value_of_blob(struct ferry__program *p, int blob)
{
    int root = ferry__net_root(p->net, blob), value = p->of_blob[root];

    if (value < 0)
        value = new_value(p, p->net->blobs[root].blob, root);
    if (value >= 0)
        p->of_blob[root] = value;
    return value;
}

static int value_of_scratch(struct ferry__program *p, ferry_blob *blob)
{
    int i;

    for (i = p->layer_values; i < p->n_values; i++)
        if (p->values[i].index < 0 && p->values[i].blob == blob)
            return i;
    return new_value(p, blob, -1);
}

static int use_of(struct ferry__program *p, ferry_layer *layer, const ferry_layer_operand *at,
                  struct ferry__use *out)
{
    int value = -1;

    *out = (struct ferry__use){ .value = -1, .start = at->offset, .diff = at->diff != 0 };
    out->blob = ferry__layer_blob(layer, at);
    if (at->diff || at->from == FERRY_FROM_PARAM)
        return 0;
    if (at->from == FERRY_FROM_BOTTOM)
        value = value_of_blob(p, layer->bottoms[at->index]);
    else if (at->from == FERRY_FROM_TOP)
        value = value_of_blob(p, layer->tops[at->index]);
    else if (layer->scratch[at->index].keep || layer->type->forward)
        return 0;
    else
        value = value_of_scratch(p, out->blob);
    if (value < 0)
        return value;
    out->value = value;
    return 0;
}

/* ---- items ----------------------------------------------------------------------------------- */

static int add_operation(struct ferry__program *p, ferry_layer *layer, int number)
{
    const struct ferry__net_op *from = &layer->forward.at[number];
    struct ferry__item *item = ferry__program_append_item(p);
    uint32_t i;
    int err;

    if (!item)
        return FERRY_ENOMEM;
    item->layer = layer;
    item->number = number;
    item->op = from->op;
    if (p->net->fuse && item->op.kind == FERRY_OP_CONVOLUTION)
        item->op.math |= FERRY_MATH_WINOGRAD |
                         (p->net->reread ? FERRY_MATH_COMPACT : FERRY_MATH_STRASSEN);
    err = ferry__item_set_precision(p, item);
    for (i = 0; !err && i < from->op.n_in; i++)
        err = use_of(p, layer, &from->in[i], &item->in[i]);
    for (i = 0; !err && i < from->op.n_out; i++)
        err = use_of(p, layer, &from->out[i], &item->out[i]);
    return err;
}

/*
 * Adds a call of a layer's own forward function, or of its loss. Such a function accesses blobs
 * directly, so their values stay in the blobs' memory, row-major.
 */
static int add_call(struct ferry__program *p, ferry_layer *layer, bool loss)
{
    struct ferry__item *item = ferry__program_append_item(p);
    int i, value;

    if (!item)
        return FERRY_ENOMEM;
    item->layer = layer;
    item->call = true;
    item->loss = loss;
    for (i = 0; i < layer->n_bottoms + layer->n_tops; i++) {
        value = value_of_blob(p, i < layer->n_bottoms ? layer->bottoms[i]
                                                      : layer->tops[i - layer->n_bottoms]);
        if (value < 0)
            return value;
        p->values[value].pinned = true;
    }
    return 0;
}

/*
 * Whether the loss of a layer's tops has to be added directly after the layer, as in Caffe: a later
 * layer in place overwrites a weighted top.
 */
static bool has_early_loss(const ferry_layer *layer)
{
    int i;

    for (i = 0; i < layer->n_tops; i++)
        if (layer->loss_weights[i] != 0 && ferry__layer_top_is_overwritten(layer, i))
            return true;
    return false;
}

static int add_layer(struct ferry__program *p, ferry_layer *layer)
{
    int k, err = 0;

    p->layer_values = p->n_values;
    for (k = 0; !err && k < layer->forward.count; k++)
        err = add_operation(p, layer, k);
    if (!err && layer->type->forward)
        err = add_call(p, layer, false);
    if (!err && has_early_loss(layer))
        err = add_call(p, layer, true);
    return err;
}

/* Marks blobs that layers of later stages use, or whose loss counts. */
static void mark_outside(const struct ferry__program *p, bool *seen)
{
    const ferry_layer *layer;
    int i, k;

    for (i = p->last_layer + 1; i < p->net->n_layers; i++)
        for (k = 0, layer = &p->net->layers[i]; k < layer->n_bottoms; k++)
            seen[layer->bottoms[k]] = true;
    for (i = p->first_layer; i <= p->last_layer; i++)
        for (k = 0, layer = &p->net->layers[i]; k < layer->n_tops; k++)
            if (layer->loss_weights[k] != 0)
                seen[layer->tops[k]] = true;
}

/* Whether the program, or an earlier stage, reads a blob. */
static bool is_seen(const struct ferry__program *p, int b)
{
    const struct ferry__net_blob *blob = &p->net->blobs[b];

    return blob->input || (blob->output && !p->net->only) || blob->kept || blob->watched ||
           p->net->keep_all || blob->producer < p->first_layer;
}

static int pin_blobs(struct ferry__program *p)
{
    bool *seen = calloc((size_t)p->net->n_blobs + 1, sizeof *seen);
    int i, b;

    if (!seen)
        return no_memory();
    mark_outside(p, seen);
    for (b = 0; b < p->net->n_blobs; b++) {
        int value = seen[b] || is_seen(p, b) ? p->of_blob[ferry__net_root(p->net, b)] : -1;

        if (value >= 0)
            p->values[value].pinned = p->values[value].seen = true;
    }
    free(seen);
    for (i = 0; i < p->n_values; i++)
        p->values[i].own = p->values[i].pinned || !p->net->plan;
    return 0;
}

/*
 * ---- dead code
 * -------------------------------------------------------------------------------------
 */

static void need_blobs(const struct ferry__program *p, const int *blobs, int n, bool *needed)
{
    int i;

    for (i = 0; i < n; i++)
        needed[p->of_blob[ferry__net_root(p->net, blobs[i])]] = true;
}

/*
 * Whether an item computes a needed value. A layer with its own forward function uses all of its
 * blobs.
 */
static bool computes_needed(const struct ferry__program *p, const struct ferry__item *item,
                            const bool *needed)
{
    const ferry_layer *layer = item->layer;
    uint32_t k;
    int i;

    for (k = 0; !item->call && k < item->op.n_out; k++)
        if (item->out[k].value < 0 || needed[item->out[k].value])
            return true;
    for (i = 0; item->call && i < layer->n_tops; i++)
        if (needed[p->of_blob[ferry__net_root(p->net, layer->tops[i])]])
            return true;
    return false;
}

/* Marks the operands of an item as needed. */
static void need_operands(const struct ferry__program *p, const struct ferry__item *item,
                          bool *needed)
{
    uint32_t k;

    if (item->call) {
        need_blobs(p, item->layer->bottoms, item->layer->n_bottoms, needed);
        need_blobs(p, item->layer->tops, item->layer->n_tops, needed);
        return;
    }
    for (k = 0; k < item->op.n_in; k++)
        if (item->in[k].value >= 0)
            needed[item->in[k].value] = true;
    for (k = 0; k < item->op.n_out; k++)
        if (item->out[k].value >= 0)
            needed[item->out[k].value] = true;
}

/* Drops items whose results are not used. */
static int drop_unneeded(struct ferry__program *p)
{
    bool *needed = calloc((size_t)p->n_values + 1, sizeof *needed);
    int i, v;

    if (!needed)
        return no_memory();
    for (v = 0; v < p->n_values; v++)
        needed[v] = p->values[v].seen;
    for (i = p->n_items; i-- > 0;) {
        p->items[i].dropped = !computes_needed(p, &p->items[i], needed);
        if (!p->items[i].dropped)
            need_operands(p, &p->items[i], needed);
    }
    free(needed);
    return 0;
}

static int make_index(struct ferry__program *p)
{
    int i;

    p->of_blob = malloc(((size_t)p->net->n_blobs + 1) * sizeof *p->of_blob);
    if (!p->of_blob)
        return no_memory();
    for (i = 0; i < p->net->n_blobs; i++)
        p->of_blob[i] = -1;
    return 0;
}

int ferry__pass_collect(struct ferry__program *p)
{
    int i, err = make_index(p);

    for (i = p->first_layer; !err && i <= p->last_layer; i++)
        err = add_layer(p, &p->net->layers[i]);
    if (!err)
        err = pin_blobs(p);
    if (!err && p->net->only)
        err = drop_unneeded(p);
    return err;
}
