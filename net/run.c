/* SPDX-License-Identifier: BSD-2-Clause */
/* Reshaping and running layers. */
#include "net/state.h"

#include "op/segment.h"

#include <ferry/status.h>

#include <stdlib.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------------------------ */

/* Whether a blob has the shape that it had when it was looked at last; notes the shape of now. */
static int has_changed(struct ferry__net_blob *b, bool *out)
{
    int naxes = ferry_blob_naxes(b->blob);
    const int64_t *dims = ferry_blob_dims(b->blob);
    int64_t *grown;

    if (b->naxes == naxes && (!naxes || !memcmp(b->shape, dims, (size_t)naxes * sizeof *dims)))
        return 0;
    *out = true;
    if (naxes > b->naxes || !b->shape) {
        grown = realloc(b->shape, (size_t)(naxes + 1) * sizeof *grown);
        if (!grown)
            return ferry_error_set(FERRY_ENOMEM, "net: no memory for a shape");
        b->shape = grown;
    }
    if (naxes)
        memcpy(b->shape, dims, (size_t)naxes * sizeof *dims);
    b->naxes = naxes;
    return 0;
}

static int share_aliases(ferry_layer *layer)
{
    int i, err = 0;

    for (i = 0; !err && i < layer->n_tops; i++) {
        struct ferry__net_blob *top = &layer->net->blobs[layer->tops[i]];

        top->alias = layer->alias[i] < 0 ? -1 : layer->bottoms[layer->alias[i]];
        if (top->alias >= 0 && layer->tops[i] != top->alias)
            err = ferry_blob_share_data(top->blob, layer->net->blobs[top->alias].blob);
    }
    return err;
}

static int prepare(ferry_layer *layer, struct ferry__net_ops *ops, int pass)
{
    int i, err = 0;

    for (i = 0; !err && i < ops->count; i++)
        err = ferry__op_cache_get(layer->net->cache, (layer->index * 64 + i) * 2 + pass,
                                  layer->device, &ops->at[i].op, &ops->at[i].entry);
    for (i = 0; !err && i < ops->count; i++)
        ops->at[i].prepared = ferry__op_entry_use(layer->net->cache, ops->at[i].entry);
    if (err) {
        char why[512];

        strncpy(why, ferry_last_error(), sizeof why - 1);
        why[sizeof why - 1] = 0;
        return ferry_layer_error(layer, err, "%s", why);
    }
    return 0;
}

static int reshape_layer(ferry_layer *layer)
{
    int err;

    ferry__layer_forget(layer);
    layer->prepared = 0;
    layer->fresh = true;
    err = layer->type->reshape(layer);
    if (!err)
        err = share_aliases(layer);
    if (!err)
        err = prepare(layer, &layer->forward, 0);
    if (!err && layer->net->backward)
        err = prepare(layer, &layer->backward, 1);
    layer->fresh = err != 0;
    return err;
}

/* Has the consumers of blob b behind layer `maker` reshaped, if its shape is not what they know. */
static int note_shape(ferry_net *net, int b, int maker)
{
    bool changed = false;
    int i, k, err = has_changed(&net->blobs[b], &changed);

    for (i = maker + 1; changed && i < net->n_layers; i++)
        for (k = 0; k < net->layers[i].n_bottoms; k++)
            if (net->layers[i].bottoms[k] == b)
                net->layers[i].fresh = true;
    return err;
}

/* The first layer that is reshaped for these inputs begins a new set of shapes. */
static int reshape_if_fresh(ferry_layer *layer, bool *turned)
{
    int k, err;

    if (!layer->fresh)
        return 0;
    if (!*turned)
        ferry__op_cache_turn(layer->net->cache);
    *turned = true;
    err = reshape_layer(layer);
    for (k = 0; !err && k < layer->n_tops; k++)
        err = note_shape(layer->net, layer->tops[k], layer->index);
    return err;
}

/* What was prepared for other shapes and is not likely to come back goes. */
static void sweep(ferry_net *net)
{
    int i, k;

    for (i = 0; i < net->n_layers; i++)
        for (k = 0; k < net->layers[i].forward.count; k++)
            if (net->layers[i].forward.at[k].entry)
                ferry__op_entry_use(net->cache, net->layers[i].forward.at[k].entry);
    ferry__op_cache_sweep(net->cache);
}

int ferry__net_reshape(ferry_net *net, int first, int last)
{
    bool turned = false;
    int i, err = 0;

    for (i = 0; !err && i < net->n_blobs; i++)
        if (net->blobs[i].watched)
            err = note_shape(net, i, net->blobs[i].maker);
    for (i = first; !err && i <= last; i++)
        err = reshape_if_fresh(&net->layers[i], &turned);
    if (turned && !err)
        sweep(net);
    return err;
}

int ferry_net_reshape(ferry_net *net)
{
    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_reshape: NULL net");
    return ferry__net_reshape(net, 0, net->n_layers - 1);
}

/* ---- running ----------------------------------------------------------------------------------- */

static void place_of(const ferry_layer *layer, const ferry_layer_operand *operand,
                     ferry_op_place *out)
{
    const ferry_blob *blob = ferry__layer_blob(layer, operand);

    out->memory = operand->diff ? ferry_blob_diff_memory(blob) : ferry_blob_data_memory(blob);
    out->offset = (uint64_t)operand->offset * ferry_dtype_size(ferry_blob_dtype(blob));
}

static int64_t elements_of(const ferry_operand *o)
{
    int64_t count = 1;
    uint32_t i;

    for (i = 0; i < o->rank; i++)
        count *= o->shape[i];
    return count;
}

static int add_op(struct ferry__segment *s, ferry_layer *layer, const struct ferry__net_op *op)
{
    ferry_op_place in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    ferry_op_args args = { .struct_size = sizeof args, .in = in, .out = out };
    uint32_t i;

    for (i = 0; i < op->op.n_in; i++)
        place_of(layer, &op->in[i], &in[i]);
    for (i = 0; i < op->op.n_out; i++)
        place_of(layer, &op->out[i], &out[i]);
    args.seed = layer->net->seed;
    args.offset = layer->net->drawn;
    if (op->op.kind == FERRY_OP_RANDOM) /* four of a block: the next one, and the next run, go on */
        layer->net->drawn += ((uint64_t)elements_of(&op->op.out[0]) + 3) / 4;
    return ferry__segment_add(s, op->prepared, ferry_layer_queue(layer), &args);
}

/* Whether a parameter has been written since the layer prepared. */
static bool params_changed(ferry_layer *layer)
{
    uint64_t version = 1;
    int i;

    for (i = 0; i < layer->n_params; i++)
        version += ferry_memory_version(ferry_blob_data_memory(layer->params[i].blob));
    if (version == layer->prepared)
        return false;
    layer->prepared = version;
    return true;
}

static int prepare_layer(struct ferry__segment *s, ferry_layer *layer)
{
    int err;

    if (!layer->type->prepare || !params_changed(layer))
        return 0;
    err = ferry__segment_end(s, 0);
    if (!err)
        err = layer->type->prepare(layer);
    if (err)
        layer->prepared = 0;
    return err;
}

static int run_layer(struct ferry__segment *s, ferry_layer *layer)
{
    int i, err = prepare_layer(s, layer);

    for (i = 0; !err && i < layer->forward.count; i++)
        err = add_op(s, layer, &layer->forward.at[i]);
    if (err || !layer->type->forward)
        return err;
    err = ferry__segment_end(s, 0);
    return err ? err : layer->type->forward(layer);
}

static int with_layer(const ferry_layer *layer, int err)
{
    char why[768];

    if (!err)
        return 0;
    strncpy(why, ferry_last_error(), sizeof why - 1);
    why[sizeof why - 1] = 0;
    if (strstr(why, layer->name))
        return err;
    return ferry_error_set(err, "layer \"%s\" (%s): %s", layer->name, layer->type->name, why);
}

/* The sum of loss weight times top, over the tops that have a weight. */
static int add_loss(const ferry_layer *layer, double *loss)
{
    int i;

    for (i = 0; i < layer->n_tops; i++) {
        const ferry_blob *top = ferry_layer_top(layer, i);
        const float *values;
        int64_t k;
        double sum = 0;

        if (layer->loss_weights[i] == 0)
            continue;
        values = ferry_blob_host_data(top);
        if (!values)
            return ferry_last_error_code();
        for (k = 0; k < ferry_blob_count(top); k++)
            sum += (double)values[k];
        *loss += layer->loss_weights[i] * sum;
    }
    return 0;
}

static int forward(ferry_net *net, int first, int last, double *out_loss)
{
    struct ferry__segment s;
    double loss = 0;
    int i, err = ferry__params_fill(net);

    if (!err)
        err = ferry__net_reshape(net, first, last);
    ferry__segment_init(&s, net->runs, FERRY__NET_RUNS, net->uses, FERRY__NET_USES);
    for (i = first; !err && i <= last; i++) {
        ferry_layer *layer = &net->layers[i];

        err = run_layer(&s, layer);
        if (!err && layer->type->flags & FERRY_LAYER_RESHAPES)
            err = ferry__net_reshape(net, i + 1, last);
        err = with_layer(layer, err);
    }
    err = ferry__segment_end(&s, err);
    for (i = first; !err && out_loss && i <= last; i++)
        err = with_layer(&net->layers[i], add_loss(&net->layers[i], &loss));
    if (!err && out_loss)
        *out_loss = loss;
    return err;
}

int ferry_net_forward(ferry_net *net, double *out_loss)
{
    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_forward: NULL net");
    return forward(net, 0, net->n_layers - 1, out_loss);
}

/* The layer of that name; −1, with an error that says so. */
static int layer_of(const ferry_net *net, const char *name)
{
    int i;

    for (i = 0; i < net->n_layers; i++)
        if (!strcmp(net->layers[i].name, name))
            return i;
    ferry_error_set(FERRY_EINVAL, "net \"%s\": it has no layer \"%s\"", net->name, name);
    return -1;
}

int ferry_net_forward_range(ferry_net *net, const char *from, const char *to, double *out_loss)
{
    int first, last;

    if (!net)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_forward_range: NULL net");
    first = from ? layer_of(net, from) : 0;
    last = to ? layer_of(net, to) : net->n_layers - 1;
    if (first < 0 || last < 0)
        return FERRY_EINVAL;
    if (first > last)
        return ferry_error_set(FERRY_EINVAL, "net \"%s\": layer \"%s\" comes after \"%s\"",
                               net->name, from, to);
    return forward(net, first, last, out_loss);
}
