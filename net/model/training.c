/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to a net for the solver. */
#include "net/model/training.h"

#include "net/model/call.h"
#include "net/model/fake.h"
#include "net/model/state.h"

#include <ferry/status.h>

#include <string.h>

/* ---- parameters ------------------------------------------------------------------------------ */

bool ferry__training_param_at(const ferry_net *net, int layer, int index,
                              struct ferry__training_param *out)
{
    const ferry_layer *l = &net->layers[layer];
    const struct ferry__net_param *p;

    if (index < 0 || index >= l->n_params)
        return false;
    p = &l->params[index];
    out->blob = p->blob;
    out->lr_mult = p->lr_mult;
    out->decay_mult = p->decay_mult;
    out->is_owned = p->owner == layer;
    out->has_diff = p->lr_mult != 0 || l->forced || *p->name;
    return true;
}

void ferry__training_on_layer(ferry_net *net, int (*fn)(void *arg, int layer), void *arg)
{
    net->on_layer = fn;
    net->on_layer_arg = arg;
}

/* ---- fake quantisation ----------------------------------------------------------------------- */

bool ferry__training_is_rounded(ferry_net *net)
{
    ferry__fake_update(net);
    return ferry__fake_is_active(net);
}

/* ---- the state of a run ---------------------------------------------------------------------- */

void ferry__training_random(const ferry_net *net, uint64_t *out_seed, uint64_t *out_drawn)
{
    *out_seed = net->seed;
    *out_drawn = net->drawn;
}

void ferry__training_set_drawn(ferry_net *net, uint64_t drawn)
{
    net->drawn = drawn;
}

int ferry__training_position(ferry_net *net, int layer, uint64_t *out)
{
    ferry_layer *l = &net->layers[layer];

    if (!l->type->position)
        return ferry_layer_error(l, FERRY_EINVAL, "it reads no records");
    *out = l->type->position(l);
    return 0;
}

int ferry__training_seek(ferry_net *net, int layer, uint64_t position)
{
    ferry_layer *l = &net->layers[layer];

    if (!l->type->seek)
        return ferry_layer_error(l, FERRY_EINVAL, "it reads no records");
    return ferry__layer_seek(l, position);
}

bool ferry__training_carried_at(const ferry_net *net, int layer, int index, ferry_blob **out)
{
    const ferry_layer *l = &net->layers[layer];

    if (index >= l->n_scratch || (strcmp(l->type->name, "LSTM") && strcmp(l->type->name, "RNN")))
        return false;
    *out = l->scratch[index].keep ? l->scratch[index].blob : NULL;
    return true;
}
