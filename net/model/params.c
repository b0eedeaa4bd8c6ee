/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters: declared by layers, filled, and shared by name. */
#include "net/model/state.h"

#include <ferry/status.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Appends a parameter. */
static struct ferry__net_param *append(ferry_layer *layer)
{
    if (layer->n_params == layer->room_params) {
        int room = layer->room_params ? 2 * layer->room_params : 2;
        struct ferry__net_param *grown = realloc(layer->params, (size_t)room * sizeof *grown);

        if (!grown)
            return NULL;
        layer->params = grown;
        layer->room_params = room;
    }
    memset(&layer->params[layer->n_params], 0, sizeof *layer->params);
    return &layer->params[layer->n_params++];
}

/*
 * Finds the first parameter with that name: *out, or NULL if this is the first. FERRY_ENOMEM.
 */
static int find_owner(const ferry_layer *layer, const struct ferry__net_param *param,
                      struct ferry__net_param **out)
{
    ferry_net *net = layer->net;
    int first = ferry__names_get(&net->param_names, param->name), i;

    *out = NULL;
    if (first < 0)
        return ferry__names_set(&net->param_names, param->name, layer->index, true);
    for (i = 0; i < net->layers[first].n_params && !*out; i++)
        if (&net->layers[first].params[i] != param &&
            !strcmp(net->layers[first].params[i].name, param->name))
            *out = &net->layers[first].params[i];
    return 0;
}

static int shapes_fit(const ferry_layer *layer, const struct ferry__net_param *p,
                      const struct ferry__net_param *owner)
{
    char mine[128], theirs[128];

    if (p->strict ? ferry_blob_shape_equals(p->blob, owner->blob) == 1
                  : ferry_blob_element_count(p->blob) == ferry_blob_element_count(owner->blob))
        return 0;
    ferry_blob_shape_string(p->blob, mine, sizeof mine);
    ferry_blob_shape_string(owner->blob, theirs, sizeof theirs);
    return ferry_layer_error(
        layer, FERRY_ESHAPE,
        "it shares the parameters \"%s\" of layer \"%s\", but has %s for its %s%s", p->name,
        layer->net->layers[owner->owner].name, mine, theirs,
        p->strict ? " (share_mode: PERMISSIVE requires equal counts only)" : "");
}

static int multipliers_fit(const ferry_layer *layer, struct ferry__net_param *p,
                           struct ferry__net_param *owner, const ferry_proto *spec)
{
    if (spec && ferry_proto_value_count(spec, "lr_mult") && p->lr_mult != owner->lr_mult)
        return ferry_layer_error(
            layer, FERRY_EFORMAT,
            "the shared parameters \"%s\" have lr_mult %g here, and %g in \"%s\"", p->name,
            p->lr_mult, owner->lr_mult, layer->net->layers[owner->owner].name);
    if (spec && ferry_proto_value_count(spec, "decay_mult") && p->decay_mult != owner->decay_mult)
        return ferry_layer_error(
            layer, FERRY_EFORMAT,
            "the shared parameters \"%s\" have decay_mult %g here, and %g in \"%s\"", p->name,
            p->decay_mult, owner->decay_mult, layer->net->layers[owner->owner].name);
    p->lr_mult = owner->lr_mult;
    p->decay_mult = owner->decay_mult;
    return 0;
}

static int share(ferry_layer *layer, struct ferry__net_param *p, struct ferry__net_param *owner,
                 const ferry_proto *spec)
{
    int err = shapes_fit(layer, p, owner);

    if (!err)
        err = multipliers_fit(layer, p, owner, spec);
    if (!err)
        err = ferry_blob_share_data(p->blob, owner->blob);
    if (!err)
        err = ferry_blob_share_diff(p->blob, owner->blob);
    if (err)
        return err;
    p->owner = owner->owner;
    p->owner_index = owner->owner_index;
    owner->shared = true;
    return 0;
}

int ferry__param_apply(ferry_layer *layer, int index)
{
    struct ferry__net_param *p = &layer->params[index];
    const ferry_proto *spec = NULL;
    struct ferry__net_param *owner = NULL;
    int err;

    p->name = "";
    p->strict = true;
    p->owner = layer->index;
    p->owner_index = index;
    if (index < ferry_proto_value_count(layer->message, "param")) {
        spec = ferry_proto_message(layer->message, "param", index);
        p->name = ferry_proto_string(spec, "name", 0, NULL);
        p->strict = strcmp(ferry_proto_enum(spec, "share_mode", 0), "PERMISSIVE") != 0;
        if (ferry_proto_value_count(spec, "lr_mult"))
            p->lr_mult = ferry_proto_real(spec, "lr_mult", 0);
        if (ferry_proto_value_count(spec, "decay_mult"))
            p->decay_mult = ferry_proto_real(spec, "decay_mult", 0);
    }
    err = p->name[0] ? find_owner(layer, p, &owner) : 0;
    return !err && owner ? share(layer, p, owner, spec) : err;
}

int ferry_layer_declare_param(ferry_layer *layer, const ferry_layer_param *param)
{
    ferry_layer_param given = { 0 };
    struct ferry__net_param *p;
    int err;

    if (!layer || !param)
        return ferry_error_set(FERRY_EINVAL, "ferry_layer_declare_param: %s is NULL",
                               layer ? "param" : "layer");
    if (param->struct_size < offsetof(ferry_layer_param, filler))
        return ferry_layer_error(layer, FERRY_EINVAL,
                                 "ferry_layer_declare_param: struct_size is %zu, at least %zu is "
                                 "required",
                                 param->struct_size, offsetof(ferry_layer_param, filler));
    memcpy(&given, param, param->struct_size < sizeof given ? param->struct_size : sizeof given);
    p = append(layer);
    if (!p)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its parameters");
    p->lr_mult = given.lr_mult;
    p->decay_mult = given.decay_mult;
    p->filler = given.filler;
    p->value = given.value;
    p->unfilled = true;
    err = ferry_blob_create(layer->device, FERRY_F32, given.shape, given.rank, &p->blob);
    if (err) {
        layer->n_params--;
        return err;
    }
    /* reserves two sets of random numbers, since a sparse filler needs both */
    p->drawn = layer->net->drawn;
    layer->net->drawn += 2 * (((uint64_t)ferry_blob_element_count(p->blob) + 3) / 4);
    err = ferry_blob_set_name(p->blob, layer->name);
    return err ? err : ferry__param_apply(layer, layer->n_params - 1);
}

static int fill(ferry_net *net, const ferry_layer *layer, struct ferry__net_param *p)
{
    struct ferry__filling f = { .filler = p->filler, .seed = net->seed, .offset = p->drawn };
    int err = 0;

    f.what = layer->name;
    if (p->filler)
        err = ferry__fill(&f, p->blob);
    else if (ferry_memory_head(ferry_blob_data_memory(p->blob)) == FERRY_HEAD_UNINITIALIZED)
        err = ferry_blob_fill_data(p->blob, p->value);
    p->unfilled = err != 0;
    return err;
}

static int fill_all(ferry_net *net)
{
    int i, k, err = 0;

    for (i = 0; !err && i < net->n_layers; i++)
        for (k = 0; !err && k < net->layers[i].n_params; k++) {
            struct ferry__net_param *p = &net->layers[i].params[k];

            if (p->unfilled && p->owner == i)
                err = fill(net, &net->layers[i], p);
        }
    return err;
}

int ferry__params_fill(ferry_net *net)
{
    int err = 0;

    pthread_mutex_lock(&net->filling);
    if (net->unfilled) {
        err = fill_all(net);
        net->unfilled = err != 0;
    }
    pthread_mutex_unlock(&net->filling);
    return err;
}
