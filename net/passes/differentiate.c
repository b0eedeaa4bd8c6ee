/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The items of the backward pass: the operations that layers emitted for it, and calls of layers'
 * own backward functions, from the last layer to the first. Backward is not planned or fused: each
 * operand is a blob's data or diff.
 */
#include "net/passes/passes.h"

#include "net/model/emitted.h"

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

    item->number = number;
    item->op = from->op;
    fill_uses(p, item->layer, from->in, from->op.n_in, item->in);
    fill_uses(p, item->layer, from->out, from->op.n_out, item->out);
    return ferry__item_choose(p, item);
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
    }
    return ferry__layer_failed(layer, err);
}

int ferry__pass_differentiate(struct ferry__program *p)
{
    int i, room = 1, err = 0;

    for (i = p->first_layer; i <= p->last_layer; i++)
        room += 1 + p->net->layers[i].backward.count;
    p->back = calloc((size_t)room, sizeof *p->back);
    if (!p->back)
        return ferry_error_set(FERRY_ENOMEM, "net: no memory for its backward pass");
    for (i = p->last_layer; !err && i >= p->first_layer; i--)
        if (ferry_layer_needs_backward(&p->net->layers[i]))
            err = add_layer(p, &p->net->layers[i]);
    return err;
}
