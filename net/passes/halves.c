/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives products the halves of their weights (net/model/narrow.h), if their device packs them
 * without a conversion of all weights to F32. The results do not change.
 */
#include "net/model/narrow.h"
#include "net/passes/passes.h"

#include "op/operation.h"
#include "op/origin.h"

/* The halves that an item can read; NULL: none. */
static ferry_blob *halves_for(const struct ferry__item *item)
{
    struct ferry__narrow narrow;

    if (item->call || item->dropped || item->integers || item->op.kind != FERRY_OP_INNER_PRODUCT ||
        item->op.pass != FERRY_PASS_FORWARD || item->op.n_in < 2 || item->in[1].value >= 0 ||
        item->in[1].diff)
        return NULL;
    narrow = ferry__narrow_of(item->layer, item->in[1].blob);
    return narrow.magnitudes ? NULL : narrow.values;
}

int ferry__pass_halves(struct ferry__program *p)
{
    int i, err = 0;

    for (i = 0; !err && i < p->n_items && p->net->lazy; i++) {
        struct ferry__item *item = &p->items[i];
        ferry_blob *halves = halves_for(item);
        ferry_op_desc op = item->op;
        bool gains = false;

        if (!halves)
            continue;
        op.in[1].dtype = ferry_blob_dtype(halves);
        err = ferry__layer_failed(item->layer,
                                  ferry__operation_gains(item->layer->device, &op, &gains));
        if (err || !gains)
            continue;
        item->op = op;
        item->in[1].blob = halves;
        err = ferry__item_choose(p, item);
    }
    return err;
}

/* Whether an operation of a program reads halves. */
static bool are_read(const ferry_net *net, const ferry_blob *halves)
{
    int i, k, n;

    for (i = 0; i < net->stage_count; i++)
        for (k = 0; k < FERRY__NET_KEPT; k++) {
            const struct ferry__program *p = net->stages[i].kept[k];

            for (n = 0; p && n < p->n_items; n++)
                if (p->items[n].op.n_in > 1 && p->items[n].in[1].blob == halves)
                    return true;
        }
    return false;
}

void ferry__narrow_trim(const ferry_layer *layer)
{
    bool trimmed = false;
    int i;

    for (i = 0; i < layer->n_params; i++) {
        struct ferry__net_param *p = &layer->params[i];

        if (p->narrow.values && ferry__origin_is_kept(ferry_blob_data_memory(p->blob)) &&
            !are_read(layer->net, p->narrow.values)) {
            ferry__narrow_end(p);
            trimmed = true;
        }
    }
    if (trimmed)
        (void)ferry_device_trim(layer->device); /* F32 forms do not use the blocks of its pool */
}
