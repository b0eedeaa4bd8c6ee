/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a net from a graph: creates layers, blobs and shapes in order and logs Caffe's lines. */
#include "net/model/call.h"
#include "net/model/graph.h"
#include "net/model/place.h"
#include "net/model/state.h"
#include "net/model/types.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* Arrays that grow while layers are added. */
struct building {
    ferry_net *net;
    bool *consumed;    /* the blob's latest version has a consumer */
    uint64_t elements; /* the number of elements of all tops so far; as in Caffe, in-place tops
                        * count again */
};

static int no_memory(const ferry_net *net)
{
    return ferry_error_set(FERRY_ENOMEM, "net \"%s\": no memory for its layers", net->name);
}

/* ---- a layer's table ------------------------------------------------------------------------- */

static int unknown_type(const struct ferry__node *node)
{
    const char *fork = ferry__types_fork(node->type), *near = ferry__types_nearest(node->type);

    if (fork)
        return ferry_proto_error(node->message, "type", 0, FERRY_EUNSUPPORTED,
                                 "layer \"%s\": ferry has no type \"%s\"; it belongs to %s",
                                 node->name, node->type, fork);
    return ferry_proto_error(node->message, "type", 0, FERRY_EUNSUPPORTED,
                             "layer \"%s\": ferry has no type \"%s\"%s%s%s", node->name, node->type,
                             near ? "; the nearest name is \"" : "; `ferry layers` lists them",
                             near ? near : "", near ? "\"" : "");
}

static int counts_fit(const ferry_layer *layer)
{
    const ferry_layer_type *t = layer->type;

    if (layer->n_bottoms < t->min_bottoms ||
        (t->max_bottoms >= 0 && layer->n_bottoms > t->max_bottoms))
        return ferry_layer_error(
            layer, FERRY_EFORMAT, "it has %d bottoms, %s %d are required", layer->n_bottoms,
            layer->n_bottoms < t->min_bottoms ? "at least" : "at most",
            layer->n_bottoms < t->min_bottoms ? t->min_bottoms : t->max_bottoms);
    if (layer->n_tops < t->min_tops || (t->max_tops >= 0 && layer->n_tops > t->max_tops))
        return ferry_layer_error(layer, FERRY_EFORMAT, "it has %d tops, %s %d are required",
                                 layer->n_tops,
                                 layer->n_tops < t->min_tops ? "at least" : "at most",
                                 layer->n_tops < t->min_tops ? t->min_tops : t->max_tops);
    if (t->flags & FERRY_LAYER_PAIRS && layer->n_tops != layer->n_bottoms)
        return ferry_layer_error(layer, FERRY_EFORMAT,
                                 "it has %d bottoms and %d tops, the numbers must be equal",
                                 layer->n_bottoms, layer->n_tops);
    return 0;
}

static int make_layer(ferry_net *net, const struct ferry__node *node, ferry_layer *layer)
{
    const ferry_layer_type *type =
        node->layer_type ? node->layer_type : ferry_layer_type_find(node->type);
    int tops = node->n_tops, i;

    if (!type)
        return unknown_type(node);
    if (type->flags & FERRY_LAYER_AUTO_TOPS && tops < type->min_tops)
        tops = type->min_tops;
    layer->net = net;
    layer->type = type;
    layer->message = node->message;
    layer->name = node->name;
    layer->fresh = true;
    layer->bottoms = ferry__mem_alloc(&net->arena, (size_t)(node->n_bottoms + 1) * sizeof(int));
    layer->tops = ferry__mem_alloc(&net->arena, (size_t)(tops + 1) * sizeof(int));
    layer->alias = ferry__mem_alloc(&net->arena, (size_t)(tops + 1) * sizeof(int));
    layer->loss_weights = ferry__mem_alloc(&net->arena, (size_t)(tops + 1) * sizeof(double));
    layer->propagate = ferry__mem_alloc(&net->arena, (size_t)(node->n_bottoms + 1));
    layer->state = ferry__mem_alloc(&net->arena, type->state_size + 1);
    if (!layer->bottoms || !layer->tops || !layer->alias || !layer->loss_weights ||
        !layer->propagate || !layer->state)
        return no_memory(net);
    for (i = 0; i < tops; i++)
        layer->alias[i] = -1;
    return 0;
}

/* ---- bottoms and tops ------------------------------------------------------------------------ */

static int add_bottoms(struct building *b, ferry_layer *layer, const struct ferry__node *node)
{
    int i;

    for (i = 0; i < node->n_bottoms; i++) {
        int blob = ferry__net_find_blob(b->net, node->bottoms[i]);

        ferry_log_write(FERRY_LOG_INFO, "%s <- %s", layer->name, node->bottoms[i]);
        layer->bottoms[layer->n_bottoms++] = blob;
        b->consumed[blob] = true;
    }
    return 0;
}

static int new_blob(struct building *b, ferry_layer *layer, const char *name, int *out)
{
    struct ferry__net_blob *blob = &b->net->blobs[b->net->n_blobs];
    int err;

    blob->name = name;
    blob->producer = layer->index;
    blob->alias = -1;
    blob->rank = -1;
    err = ferry_blob_create(layer->device, FERRY_F32, NULL, FERRY_UNSHAPED, &blob->blob);
    if (err)
        return err;
    ferry_blob_set_name(blob->blob, name);
    *out = b->net->n_blobs++;
    return ferry__names_set(&b->net->blob_names, name, *out, true);
}

static int add_top(struct building *b, ferry_layer *layer, const struct ferry__node *node, int i)
{
    const char *name = i < node->n_tops ? node->tops[i] : "(automatic)";
    int blob = i < node->n_tops ? ferry__net_find_blob(b->net, name) : -1, err;
    bool in_place = blob >= 0 && i < node->n_bottoms && !strcmp(node->bottoms[i], name);

    if (in_place && layer->type->flags & FERRY_LAYER_IN_PLACE) {
        ferry_log_write(FERRY_LOG_INFO, "%s -> %s (in-place)", layer->name, name);
        layer->tops[layer->n_tops++] = blob;
        b->consumed[blob] = false;
        return 0;
    }
    if (in_place)
        return ferry_layer_error(
            layer, FERRY_EFORMAT,
            "\"%s\" is its bottom and its top, but this type does not work in place", name);
    if (blob >= 0)
        return ferry_proto_error(node->message, "top", i, FERRY_EFORMAT,
                                 "layer \"%s\": its top \"%s\" is already produced by layer \"%s\"",
                                 layer->name, name,
                                 b->net->layers[b->net->blobs[blob].producer].name);
    ferry_log_write(FERRY_LOG_INFO, "%s -> %s", layer->name, name);
    err = new_blob(b, layer, name, &blob);
    if (!err)
        layer->tops[layer->n_tops++] = blob;
    return err;
}

/*
 * Automatic tops take the loss weights after those of the named tops, which the graph may have
 * moved to a split.
 */
static int weigh_tops(ferry_layer *layer, const struct ferry__node *node)
{
    int weights = (int)ferry_proto_value_count(node->message, "loss_weight"), i;

    if (weights && weights != layer->n_tops)
        return ferry_proto_error(node->message, "loss_weight", 0, FERRY_EFORMAT,
                                 "layer \"%s\": %d loss_weights for %d tops; give none, or one for "
                                 "each top",
                                 layer->name, weights, layer->n_tops);
    for (i = 0; i < layer->n_tops; i++)
        if (i < node->n_tops)
            layer->loss_weights[i] = node->loss_weights[i];
        else if (i < weights)
            layer->loss_weights[i] = ferry_proto_real(node->message, "loss_weight", i);
    if (layer->type->flags & FERRY_LAYER_LOSS && !node->weighted && layer->n_tops)
        layer->loss_weights[0] = 1;
    return 0;
}

static int add_tops(struct building *b, ferry_layer *layer, const struct ferry__node *node)
{
    int wanted = node->n_tops, i, err = 0;

    if (layer->type->flags & FERRY_LAYER_AUTO_TOPS && wanted < layer->type->min_tops)
        wanted = layer->type->min_tops;
    for (i = 0; !err && i < wanted; i++)
        err = add_top(b, layer, node, i);
    return err ? err : weigh_tops(layer, node);
}

/* ---- one layer after another ----------------------------------------------------------------- */

static void log_tops(struct building *b, const ferry_layer *layer)
{
    char shape[256];
    int i;

    for (i = 0; i < layer->n_tops; i++) {
        const ferry_blob *top = ferry_layer_top_at(layer, i);

        ferry_blob_shape_string(top, shape, sizeof shape);
        ferry_log_write(FERRY_LOG_INFO, "Top shape: %s", shape);
        if (layer->loss_weights[i] != 0)
            ferry_log_write(FERRY_LOG_INFO, "    with loss weight %g", layer->loss_weights[i]);
        b->elements += (uint64_t)ferry_blob_element_count(top);
    }
    ferry_log_write(FERRY_LOG_INFO, "Memory required for data: %llu",
                    (unsigned long long)b->elements * sizeof(float));
}

static void log_shared(const ferry_layer *layer)
{
    int i;

    for (i = 0; i < layer->n_params; i++) {
        const struct ferry__net_param *p = &layer->params[i];

        if (p->owner != layer->index)
            ferry_log_write(FERRY_LOG_INFO,
                            "Sharing parameters '%s' owned by layer '%s', param index %d", p->name,
                            layer->net->layers[p->owner].name, p->owner_index);
    }
}

static int set_up(struct building *b, ferry_layer *layer)
{
    int first = layer->index, err = 0;

    layer->set_up = true;
    if (layer->type->setup)
        err = ferry__layer_misfit(layer, ferry__layer_call(layer, layer->type->setup, "setup"));
    if (!err && ferry_proto_value_count(layer->message, "param") > layer->n_params)
        err = ferry_layer_error(layer, FERRY_EFORMAT,
                                "it has %d blobs of parameters and %d `param`s", layer->n_params,
                                (int)ferry_proto_value_count(layer->message, "param"));
    if (!err)
        err = ferry__net_reshape(b->net, first, first);
    if (err)
        return err;
    ferry_log_write(FERRY_LOG_INFO, "Setting up %s", layer->name);
    log_tops(b, layer);
    log_shared(layer);
    return 0;
}

/* Adds a layer to those of its name. FERRY_ENOMEM. */
static int name_layer(ferry_net *net, ferry_layer *layer)
{
    int first = ferry__net_find_layer(net, layer->name);

    layer->next_same = first < 0 ? -1 : net->layers[first].next_same;
    if (first >= 0)
        net->layers[first].next_same = layer->index;
    return first >= 0 ? 0 : ferry__names_set(&net->layer_names, layer->name, layer->index, true);
}

static int add_layer(struct building *b, const struct ferry__node *node)
{
    ferry_layer *layer = &b->net->layers[b->net->n_layers];
    int err;

    ferry_log_write(FERRY_LOG_INFO, "Creating layer %s", node->name);
    layer->index = b->net->n_layers;
    err = make_layer(b->net, node, layer);
    if (err)
        return err;
    layer->device = ferry__place_of(b->net->place, node->name, node->type);
    if (!layer->device)
        layer->device = b->net->device;
    b->net->n_layers++;
    ferry_log_write(FERRY_LOG_INFO, "Creating Layer %s", node->name);
    err = name_layer(b->net, layer);
    if (!err)
        err = add_bottoms(b, layer, node);
    if (!err)
        err = add_tops(b, layer, node);
    if (!err)
        err = counts_fit(layer);
    if (!err)
        err = ferry__layer_failed(layer, set_up(b, layer));
    return err;
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

/* An output with its name. */
struct named {
    const char *name;
    int blob;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->blob > y->blob) - (x->blob < y->blob);
}

/* The blobs whose latest version has no consumer, sorted by name. */
static int find_outputs(struct building *b)
{
    ferry_net *net = b->net;
    struct named *named =
        ferry__mem_alloc(&net->arena, (size_t)(net->n_blobs + 1) * sizeof *named);
    int i;

    net->outputs = ferry__mem_alloc(&net->arena, (size_t)(net->n_blobs + 1) * sizeof(int));
    net->inputs = ferry__mem_alloc(&net->arena, (size_t)(net->n_blobs + 1) * sizeof(int));
    if (!named || !net->outputs || !net->inputs)
        return no_memory(net);
    for (i = 0; i < net->n_blobs; i++) {
        if (net->blobs[i].input)
            net->inputs[net->n_inputs++] = i;
        if (b->consumed[i])
            continue;
        net->blobs[i].output = true;
        named[net->n_outputs++] = (struct named){ net->blobs[i].name, i };
    }
    qsort(named, (size_t)net->n_outputs, sizeof *named, by_name);
    for (i = 0; i < net->n_outputs; i++) {
        net->outputs[i] = named[i].blob;
        ferry_log_write(FERRY_LOG_INFO, "This network produces output %s", named[i].name);
    }
    return 0;
}

/* Watches the shapes of inputs: the program may change them, and the other shapes follow. */
static int watch(ferry_net *net)
{
    int i, k;

    net->watched = ferry__mem_alloc(&net->arena, (size_t)(net->n_blobs + 1) * sizeof(int));
    if (!net->watched)
        return no_memory(net);

    for (i = 0; i < net->n_layers; i++)
        for (k = 0; k < net->layers[i].n_tops; k++) {
            struct ferry__net_blob *blob = &net->blobs[net->layers[i].tops[k]];

            if (net->layers[i].type->flags & FERRY_LAYER_INPUT)
                blob->input = blob->watched = true;
            if (net->layers[i].type->flags & FERRY_LAYER_RESHAPES)
                blob->watched = true;
        }
    for (i = 0; i < net->n_blobs; i++)
        if (net->blobs[i].watched)
            net->watched[net->n_watched++] = i;
    return 0;
}

int ferry__net_build(ferry_net *net, const struct ferry__graph *graph)
{
    struct building b = { .net = net };
    int tops = 1, i, err = 0;

    for (i = 0; i < graph->count; i++)
        tops += graph->nodes[i].n_tops + 8; /* 8 more, for tops that the layer's type creates */
    net->blobs = ferry__mem_alloc(&net->arena, (size_t)tops * sizeof *net->blobs);
    net->layers = ferry__mem_alloc(&net->arena, (size_t)(graph->count + 1) * sizeof *net->layers);
    b.consumed = ferry__mem_alloc(&net->arena, (size_t)tops);
    if (!net->blobs || !net->layers || !b.consumed)
        return no_memory(net);
    for (i = 0; !err && i < graph->count; i++)
        err = add_layer(&b, &graph->nodes[i]);
    if (err)
        return err;
    err = watch(net);
    if (!err)
        err = ferry__net_needs(net);
    if (!err)
        err = find_outputs(&b);
    if (!err)
        ferry_log_write(FERRY_LOG_INFO, "Network initialization done.");
    return err;
}
