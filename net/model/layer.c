/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that a layer type calls for its layer. */
#include "net/model/emitted.h"
#include "net/model/state.h"

#include "op/origin.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ferry_layer_name(const ferry_layer *layer)
{
    return layer ? layer->name : "";
}

const ferry_layer_type *ferry_layer_get_type(const ferry_layer *layer)
{
    return layer ? layer->type : NULL;
}

const ferry_proto *ferry_layer_message(const ferry_layer *layer)
{
    return layer ? layer->message : NULL;
}

void *ferry_layer_state(ferry_layer *layer)
{
    return layer ? layer->state : NULL;
}

ferry_phase ferry_layer_phase(const ferry_layer *layer)
{
    return layer ? layer->net->phase : FERRY_PHASE_DEFAULT;
}

ferry_device *ferry_layer_device(const ferry_layer *layer)
{
    return layer ? layer->device : NULL;
}

ferry_queue *ferry_layer_queue(const ferry_layer *layer)
{
    return layer ? ferry_device_queue(layer->device) : NULL;
}

int ferry_layer_bottom_count(const ferry_layer *layer)
{
    return layer ? layer->n_bottoms : 0;
}

int ferry_layer_top_count(const ferry_layer *layer)
{
    return layer ? layer->n_tops : 0;
}

ferry_blob *ferry_layer_bottom_at(const ferry_layer *layer, int index)
{
    if (!layer || index < 0 || index >= layer->n_bottoms)
        return NULL;
    return layer->net->blobs[layer->bottoms[index]].blob;
}

ferry_blob *ferry_layer_top_at(const ferry_layer *layer, int index)
{
    if (!layer || index < 0 || index >= layer->n_tops)
        return NULL;
    return layer->net->blobs[layer->tops[index]].blob;
}

bool ferry_layer_is_in_place(const ferry_layer *layer, int index)
{
    int i;

    for (i = 0; layer && index >= 0 && index < layer->n_tops && i < layer->n_bottoms; i++)
        if (layer->bottoms[i] == layer->tops[index])
            return 1;
    return 0;
}

double ferry_layer_loss_weight(const ferry_layer *layer, int index)
{
    return layer && index >= 0 && index < layer->n_tops ? layer->loss_weights[index] : 0;
}

bool ferry_layer_needs_backward(const ferry_layer *layer)
{
    return layer && layer->net->backward && layer->needs_backward;
}

bool ferry_layer_propagates(const ferry_layer *layer, int index)
{
    return ferry_layer_needs_backward(layer) && index >= 0 && index < layer->n_bottoms &&
           layer->propagate[index];
}

bool ferry_layer_param_propagates(const ferry_layer *layer, int index)
{
    return ferry_layer_needs_backward(layer) && index >= 0 && index < layer->n_params &&
           (layer->forced || layer->params[index].lr_mult != 0);
}

/* The blob that finally owns the contents which a blob shares. */
static int contents_of(const ferry_net *net, int blob)
{
    while (net->blobs[blob].alias >= 0)
        blob = net->blobs[blob].alias;
    return blob;
}

/* Notes the last layer in place that writes the contents of each blob. */
static void note_in_place(ferry_net *net)
{
    int i, k;

    for (i = 0; i < net->n_blobs; i++)
        net->blobs[i].in_place = -1;
    for (i = 0; i < net->n_layers; i++)
        for (k = 0; k < net->layers[i].n_tops; k++)
            if (ferry_layer_is_in_place(&net->layers[i], k))
                net->blobs[contents_of(net, net->layers[i].tops[k])].in_place = i;
    net->in_place = net->n_layers;
}

bool ferry__layer_top_is_overwritten(const ferry_layer *layer, int top)
{
    ferry_net *net = layer->net;

    if (layer->index + 1 >= net->n_layers)
        return false;
    if (net->in_place != net->n_layers)
        note_in_place(net);
    return net->blobs[contents_of(net, layer->tops[top])].in_place > layer->index;
}

bool ferry_layer_is_overwritten(const ferry_layer *layer, int index)
{
    return ferry_layer_needs_backward(layer) && index >= 0 && index < layer->n_tops &&
           ferry__layer_top_is_overwritten(layer, index);
}

int ferry_layer_error(const ferry_layer *layer, int code, const char *fmt, ...)
{
    char text[768];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!layer)
        return ferry_error_set(code, "%s", text);
    return ferry_proto_error(layer->message, NULL, 0, code, "layer \"%s\" (%s): %s", layer->name,
                             layer->type->name, text);
}

/*
 * A random number from the seed and the number of draws so far (SplitMix64 of Steele, Lea, Flood).
 */
static uint64_t next_random(ferry_net *net)
{
    uint64_t x = net->seed * 0xd1342543de82ef95u + ++net->drawn * 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/*
 * Draws numbers until one is below the last whole multiple of `below`; without this, small results
 * would be more likely.
 */
uint64_t ferry_layer_random(ferry_layer *layer, uint64_t below)
{
    uint64_t x, rest;

    if (!layer || !below)
        return 0;
    rest = (UINT64_MAX % below + 1) % below;
    do
        x = next_random(layer->net);
    while (x > UINT64_MAX - rest);
    return x % below;
}

/* ---- records --------------------------------------------------------------------------------- */

int ferry_layer_rank(const ferry_layer *layer)
{
    return layer && layer->net->phase == FERRY_PHASE_TRAIN ? layer->net->rank : 0;
}

int ferry_layer_rank_count(const ferry_layer *layer)
{
    return layer && layer->net->phase == FERRY_PHASE_TRAIN ? layer->net->ranks : 1;
}

/* ---- blobs of its own ------------------------------------------------------------------------ */

int ferry_layer_param_count(const ferry_layer *layer)
{
    return layer ? layer->n_params : 0;
}

static ferry_blob *param_of(const ferry_layer *layer, int index)
{
    return layer && index >= 0 && index < layer->n_params ? layer->params[index].blob : NULL;
}

ferry_blob *ferry_layer_param_at(const ferry_layer *layer, int index)
{
    ferry_blob *blob = param_of(layer, index);

    if (blob && layer->net->lazy && !layer->net->shaping &&
        ferry__origin_keep(ferry_blob_data_memory(blob)))
        return NULL;
    return blob;
}

/* Makes room for scratch blob `index`. */
static int make_room(ferry_layer *layer, int index)
{
    struct ferry__net_scratch *grown;

    if (index < layer->n_scratch)
        return 0;
    grown = realloc(layer->scratch, (size_t)(index + 1) * sizeof *grown);
    if (!grown)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its scratch blobs");
    memset(grown + layer->n_scratch, 0, (size_t)(index + 1 - layer->n_scratch) * sizeof *grown);
    layer->scratch = grown;
    layer->n_scratch = index + 1;
    return 0;
}

static bool has_shape(const ferry_blob *b, int rank, const int64_t *shape)
{
    return b && ferry_blob_rank(b) == rank &&
           (!rank || !memcmp(ferry_blob_shape(b), shape, (size_t)rank * sizeof *shape));
}

ferry_blob *ferry_layer_scratch(ferry_layer *layer, int index, bool keep, const int64_t *shape,
                                int rank)
{
    struct ferry__net_scratch *s;

    if (!layer || index < 0 || index > 63) {
        ferry_error_set(FERRY_EINVAL, "ferry_layer_scratch: blob %d of a layer", index);
        return NULL;
    }
    if (make_room(layer, index))
        return NULL;
    s = &layer->scratch[index];
    s->keep = keep;
    if (!has_shape(s->blob, rank, shape))
        layer->prepared = 0; /* cached results in the blob are invalid */
    if (!s->blob && ferry_blob_create(layer->device, FERRY_F32, shape, rank, &s->blob)) {
        s->blob = NULL;
        return NULL;
    }
    return ferry_blob_reshape(s->blob, shape, rank, NULL) ? NULL : s->blob;
}

ferry_blob *ferry_layer_scratch_at(const ferry_layer *layer, int index)
{
    return layer && index >= 0 && index < layer->n_scratch ? layer->scratch[index].blob : NULL;
}

int ferry_layer_alias(ferry_layer *layer, int top, int bottom)
{
    ferry_blob *to = ferry_layer_top_at(layer, top), *from = ferry_layer_bottom_at(layer, bottom);

    if (!layer)
        return ferry_error_set(FERRY_EINVAL, "ferry_layer_alias: layer is NULL");
    if (!to || !from)
        return ferry_layer_error(layer, FERRY_EINVAL,
                                 "ferry_layer_alias: top %d of %d, bottom %d of %d", top,
                                 layer->n_tops, bottom, layer->n_bottoms);
    if (ferry_blob_element_count(to) != ferry_blob_element_count(from)) {
        char shape[160] = "";

        ferry_blob_shape_string(to, shape, sizeof shape);
        return ferry_layer_error(layer, FERRY_ESHAPE, "top %d, which shares bottom %d, would be %s",
                                 top, bottom, shape);
    }
    layer->alias[top] = bottom;
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

ferry_blob *ferry__layer_blob(const ferry_layer *layer, const ferry_layer_operand *operand)
{
    switch (operand->from) {
    case FERRY_FROM_BOTTOM:
        return ferry_layer_bottom_at(layer, operand->index);
    case FERRY_FROM_TOP:
        return ferry_layer_top_at(layer, operand->index);
    case FERRY_FROM_PARAM:
        return param_of(layer, operand->index); /* run.c makes it readable if it is read */
    case FERRY_FROM_SCRATCH:
        return ferry_layer_scratch_at(layer, operand->index);
    default:
        return NULL;
    }
}

void ferry_layer_operand_of(const ferry_blob *blob, ferry_operand *operand)
{
    const int64_t *shape = blob ? ferry_blob_shape(blob) : NULL;
    int64_t count = ferry_blob_element_count(blob);
    int rank = blob ? ferry_blob_rank(blob) : -1;

    if (!operand)
        return;
    if (rank > FERRY_OP_AXES) {
        shape = &count;
        rank = 1;
    }
    *operand = ferry_operand_make(blob ? ferry_blob_dtype(blob) : FERRY_F32, shape, rank, NULL);
}

/* Checks that the operand's blob exists and contains all of its elements. */
static int operand_check(const ferry_layer *layer, const ferry_operand *o,
                         const ferry_layer_operand *at)
{
    const ferry_blob *blob = ferry__layer_blob(layer, at);
    int64_t extent = ferry_operand_extent(o), bytes;

    if (!blob)
        return ferry_layer_error(layer, FERRY_EINVAL,
                                 "an operation uses blob %d of kind %d, which does not exist",
                                 at->index, (int)at->from);
    if (extent < 0)
        return (int)extent;
    bytes = ferry_blob_element_count(blob) * (int64_t)ferry_dtype_size(ferry_blob_dtype(blob));
    if (at->offset < 0 || ferry_blob_dtype(blob) != (ferry_dtype)o->dtype ||
        at->offset > INT64_MAX / 8 ||
        at->offset * (int64_t)ferry_dtype_size((ferry_dtype)o->dtype) > bytes - extent)
        return ferry_layer_error(
            layer, FERRY_ESHAPE,
            "an operation uses %lld bytes from element %lld on of a blob of %lld bytes",
            (long long)extent, (long long)at->offset, (long long)bytes);
    return 0;
}

static struct ferry__net_op *append(struct ferry__net_ops *ops)
{
    if (ops->count == ops->room) {
        int room = ops->room ? 2 * ops->room : 2;
        struct ferry__net_op *grown = realloc(ops->at, (size_t)room * sizeof *grown);

        if (!grown)
            return NULL;
        ops->at = grown;
        ops->room = room;
    }
    memset(&ops->at[ops->count], 0, sizeof *ops->at);
    return &ops->at[ops->count++];
}

/* Whether an operation belongs to the backward pass, because it uses diffs. */
static bool is_backward(const ferry_op_desc *op, const ferry_layer_operand *in,
                        const ferry_layer_operand *out)
{
    bool diff = op->pass != FERRY_PASS_FORWARD;
    uint32_t i;

    for (i = 0; i < op->n_in; i++)
        diff = diff || in[i].diff;
    for (i = 0; i < op->n_out; i++)
        diff = diff || out[i].diff;
    return diff;
}

int ferry_layer_emit(ferry_layer *layer, const ferry_op_desc *op, const ferry_layer_operand *in,
                     const ferry_layer_operand *out)
{
    struct ferry__net_op *new;
    uint32_t i;
    int err;

    if (!layer)
        return ferry_error_set(FERRY_EINVAL, "ferry_layer_emit: layer is NULL");
    err = ferry_op_desc_check(op);
    if (!err && ((op->n_in && !in) || (op->n_out && !out)))
        return ferry_layer_error(layer, FERRY_EINVAL, "ferry_layer_emit: %s is NULL",
                                 op->n_in && !in ? "in" : "out");
    if (err) {
        char why[512];

        snprintf(why, sizeof why, "%s", ferry_last_error());
        return ferry_layer_error(layer, err, "%s", why);
    }
    for (i = 0; !err && i < op->n_in; i++)
        err = operand_check(layer, &op->in[i], &in[i]);
    for (i = 0; !err && i < op->n_out; i++)
        err = operand_check(layer, &op->out[i], &out[i]);
    if (err)
        return err;
    new = append(is_backward(op, in, out) ? &layer->backward : &layer->forward);
    if (!new)
        return ferry_layer_error(layer, FERRY_ENOMEM, "no memory for its operations");
    for (i = 0; i < op->n_out; i++)
        if (out[i].from == FERRY_FROM_PARAM && !out[i].diff)
            layer->net->writes = layer->params[out[i].index].written = true;
    new->op = *op;
    if (op->n_in)
        memcpy(new->in, in, op->n_in * sizeof *in);
    memcpy(new->out, out, op->n_out * sizeof *out);
    return 0;
}

void ferry__layer_forget(ferry_layer *layer)
{
    int i;

    layer->forward.count = layer->backward.count = 0;
    for (i = 0; i < layer->n_tops; i++)
        layer->alias[i] = -1;
}

/* ---- errors ---------------------------------------------------------------------------------- */

int ferry__layer_failed(const ferry_layer *layer, int err)
{
    char why[768], quoted[160];

    if (!err)
        return 0;
    strncpy(why, ferry_last_error(), sizeof why - 1);
    why[sizeof why - 1] = 0;
    snprintf(quoted, sizeof quoted, strlen(layer->name) > 150 ? "\"%.150s" : "\"%s\"", layer->name);
    if (strstr(why, quoted))
        return err;
    return ferry_layer_error(layer, err, "%s", why);
}

/* Appends a text such as "bottom 0 is 2 3 (6)" to a message, unless it is there. */
static void add_shape(char *line, size_t size, const char *what, int index, const ferry_blob *b)
{
    char shape[160], text[200];
    size_t used = strlen(line);

    if (ferry_blob_shape_string(b, shape, sizeof shape))
        snprintf(shape, sizeof shape, "%d axes", ferry_blob_rank(b));
    snprintf(text, sizeof text, "%s %d is %s", what, index, shape);
    if (!strstr(line, text))
        snprintf(line + used, size - used, "; %s", text);
}

int ferry__layer_misfit(const ferry_layer *layer, int err)
{
    char line[1024];
    int i;

    err = ferry__layer_failed(layer, err);
    if (err != FERRY_ESHAPE && err != FERRY_EINVAL)
        return err;
    snprintf(line, sizeof line, "%s", ferry_last_error());
    for (i = 0; i < layer->n_bottoms; i++)
        add_shape(line, sizeof line, "bottom", i, ferry_layer_bottom_at(layer, i));
    for (i = 0; i < layer->n_params; i++)
        add_shape(line, sizeof line, "blob", i, layer->params[i].blob);
    return ferry_error_set(err, "%s", line);
}
