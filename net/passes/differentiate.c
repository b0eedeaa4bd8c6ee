/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The items of the backward pass: the operations that layers emitted for it, and calls of layers'
 * own backward functions, from the last layer to the first. Backward is not planned or fused: each
 * operand is a blob's data or diff.
 */
#include "net/passes/passes.h"

#include "net/model/emitted.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdlib.h>

static ferry_blob *kept_of(const struct ferry__program *p, const ferry_layer *layer,
                           ferry_blob *blob)
{
    int i;

    for (i = 0; i < p->n_kept; i++)
        if (p->kept[i].layer == layer && p->kept[i].own == blob)
            return p->kept[i].instead;
    return blob;
}

static void fill_uses(const struct ferry__program *p, const ferry_layer *layer,
                      const ferry_layer_operand *at, uint32_t n, struct ferry__use *out)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        out[i] = (struct ferry__use){ .value = -1, .start = at[i].offset, .diff = at[i].diff != 0 };
        out[i].blob = kept_of(p, layer, ferry__layer_blob(layer, &at[i]));
    }
}

static int add_operation(const struct ferry__program *p, struct ferry__item *item, int number)
{
    const struct ferry__net_op *from = &item->layer->backward.at[number];
    int err;

    item->number = number;
    item->op = from->op;
    err = ferry__item_set_precision(p, item);
    if (err)
        return err;
    fill_uses(p, item->layer, from->in, from->op.n_in, item->in);
    fill_uses(p, item->layer, from->out, from->op.n_out, item->out);
    return ferry__item_choose(p, item);
}

static bool is_per_channel(const ferry_operand *o)
{
    return o->rank == 3 && o->shape[0] == 1 && o->shape[2] == 1 && ferry_operand_is_plain(o);
}

/*
 * Whether item `moments` is the gradient of normalised values, in place of dy, and item `factor`
 * computes this dy, in place too, by a factor for each channel.
 */
static bool is_scaled_moments(const struct ferry__item *factor, const struct ferry__item *moments)
{
    const struct ferry__use *dy = &moments->in[0];

    return !factor->call && !moments->call && moments->op.kind == FERRY_OP_MOMENTS &&
           moments->op.pass == FERRY_PASS_BACKWARD_DATA && moments->op.n_in == 3 &&
           factor->op.kind == FERRY_OP_BINARY && factor->op.pass == FERRY_PASS_FORWARD &&
           factor->op.params.binary.function == FERRY_BINARY_PRODUCT && factor->op.n_in == 2 &&
           !factor->op.n_epilogue && factor->layer->device == moments->layer->device && dy->diff &&
           factor->in[0].blob == dy->blob && factor->in[0].diff &&
           factor->out[0].blob == dy->blob && factor->out[0].diff &&
           moments->out[0].blob == dy->blob && moments->out[0].diff &&
           is_per_channel(&moments->op.in[2]) && is_per_channel(&factor->op.in[1]) &&
           factor->op.in[1].shape[1] == moments->op.in[2].shape[1];
}

/*
 * The gradient of normalised values is linear in dy. A pass over the whole net multiplies the
 * spread of each channel by the factor, instead of each element of dy. The product is the diff of
 * the spread's blob.
 */
static int add_scaled_moments(struct ferry__program *p)
{
    struct ferry__item *factor = &p->back[p->n_back - 2], *moments = factor + 1;
    struct ferry__item *product = moments + 1, *scaled = moments + 2;
    int err;

    factor->in_parts = moments->in_parts = true;
    *product = *scaled = *moments;
    product->prepared = scaled->prepared = NULL;
    product->op = factor->op;
    product->op.in[0] = product->op.out[0] = moments->op.in[2];
    product->op.in[1] = factor->op.in[1];
    product->in[0] = product->out[0] = moments->in[2];
    product->out[0].diff = true;
    product->in[1] = factor->in[1];
    scaled->in[2] = product->out[0];
    product->in_parts = scaled->in_parts = false;
    product->whole = scaled->whole = true;
    p->n_back += 2;
    err = ferry__item_choose(p, product);
    if (!err)
        err = ferry__item_prepare(p, product);
    return err ? err : ferry__item_prepare(p, scaled);
}

static int add_layer(struct ferry__program *p, ferry_layer *layer)
{
    int k, err = 0;

    if (layer->type->backward)
        p->back[p->n_back++] = (struct ferry__item){ .layer = layer, .back = true, .call = true };
    for (k = 0; !err && k < layer->backward.count; k++) {
        p->back[p->n_back] = (struct ferry__item){ .layer = layer, .back = true };
        err = add_operation(p, &p->back[p->n_back], k);
        if (!err)
            err = ferry__item_prepare(p, &p->back[p->n_back]);
        p->n_back++;
        if (!err && p->n_back > 1 &&
            is_scaled_moments(&p->back[p->n_back - 2], &p->back[p->n_back - 1]))
            err = add_scaled_moments(p);
    }
    return ferry__layer_failed(layer, err);
}

int ferry__pass_differentiate(struct ferry__program *p)
{
    int i, room = 1, err = 0;

    for (i = p->first_layer; i <= p->last_layer; i++)
        if (ferry_layer_needs_backward(&p->net->layers[i]))
            room += 1 + 3 * p->net->layers[i].backward.count; /* see add_scaled_moments */
    p->back = calloc((size_t)room, sizeof *p->back);
    if (!p->back)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its backward pass");
    for (i = p->last_layer; !err && i >= p->first_layer; i--)
        if (ferry_layer_needs_backward(&p->net->layers[i]))
            err = add_layer(p, &p->net->layers[i]);
    return err;
}
