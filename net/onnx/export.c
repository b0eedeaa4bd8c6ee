/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/model/reread.h"
#include "net/onnx/layers.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OPSET 11
#define MOST_OPSET  22
#define USUAL_OPSET 13
#define QDQ_OPSET   13 /* from here on, DequantizeLinear takes a scale for each channel */

/* ---- layers without an equivalent ----------------------------------------------------------- */

/* The reason why a layer cannot be expressed in ONNX; NULL: it can. */
static const char *refusal(const struct ferry__onnx *o, const ferry_layer *layer)
{
    const struct ferry__onnx_layer *entry = ferry__onnx_layer_of(layer);

    if (!entry)
        return layer->n_bottoms ? "no operator" : "it reads records";
    return entry->refuse ? entry->refuse(o, layer) : NULL;
}

/* Reports all layers that cannot be expressed, in one error. */
static int check_layers(const struct ferry__onnx *o)
{
    char list[960] = "", item[256];
    size_t used = 0;
    int i, n = 0, unnamed = 0;

    for (i = 0; i < o->net->n_layers; i++) {
        const ferry_layer *layer = &o->net->layers[i];
        const char *why = refusal(o, layer);

        if (!why)
            continue;
        snprintf(item, sizeof item, "%sline %d, %.80s (%s): %s", n ? "; " : "",
                 ferry_proto_get_location(layer->message, NULL, 0).line, layer->name,
                 layer->type->name, why);
        n++;
        if (used + strlen(item) + 40 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s", item);
        else
            unnamed++;
    }
    if (unnamed)
        snprintf(list + used, sizeof list - used, "; and %d more", unnamed);
    if (n)
        return ferry_error_set(FERRY_EUNSUPPORTED, "cannot be expressed in ONNX, opset %d: %s",
                               o->opset, list);
    return FERRY_OK;
}

/* ---- layers --------------------------------------------------------------------------------- */

/*
 * Gives the value of an in-place top also to the blobs that share its memory, in their own shapes.
 */
static void spread(struct ferry__onnx *o, int top)
{
    int root = ferry__net_root(o->net, top), i;

    for (i = 0; i < o->net->n_blobs && !o->err; i++)
        if (i != top && o->held[i] && ferry__net_root(o->net, i) == root)
            o->held[i] = ferry__onnx_reshape_as(o, o->held[top], o->net->blobs[i].blob);
}

static bool is_in_place(const ferry_layer *layer, int top)
{
    for (int i = 0; i < layer->n_bottoms; i++)
        if (layer->bottoms[i] == layer->tops[top])
            return true;
    return false;
}

static void translate(struct ferry__onnx *o)
{
    int i, k;

    for (i = 0; i < o->net->n_layers && !o->err; i++) {
        o->layer = &o->net->layers[i];
        ferry__onnx_layer_of(o->layer)->write(o);
        for (k = 0; k < o->layer->n_tops; k++)
            if (is_in_place(o->layer, k))
                spread(o, o->layer->tops[k]);
    }
    o->layer = NULL;
}

/* Gives an output a node of its own, if necessary, so that its value can have the blob's name. */
static void end_output(struct ferry__onnx *o, int blob)
{
    int value;

    if (o->err) /* there may be no lists yet */
        return;
    value = o->held[blob];
    if (o->values[value].node < 0 || o->values[value].blob_name)
        value = ONNX_OP(o, "Identity", value);
    if (o->err)
        return;
    o->values[value].blob_name = o->net->blobs[blob].name;
    o->outputs[o->n_outputs++] = value;
}

/* Ends the outputs. A net without outputs exports the bottoms of its Silence layers. */
static void end_outputs(struct ferry__onnx *o)
{
    int i, k;

    for (i = 0; i < o->net->n_outputs; i++)
        end_output(o, o->net->outputs[i]);
    for (i = 0; !o->net->n_outputs && i < o->net->n_layers; i++)
        for (k = 0;
             !strcmp(o->net->layers[i].type->name, "Silence") && k < o->net->layers[i].n_bottoms;
             k++)
            end_output(o, o->net->layers[i].bottoms[k]);
    if (!o->err && !o->n_outputs)
        o->err = ferry_error_set(FERRY_EUNSUPPORTED, "cannot be expressed in ONNX: the net has no "
                                                     "outputs");
}

/* ---- the export ----------------------------------------------------------------------------- */

static int check_properties(const ferry_onnx_options *options)
{
    size_t i;

    if (options->property_count && !options->properties)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_export_onnx: properties is NULL, "
                                             "property_count is not 0");
    for (i = 0; i < options->property_count; i++)
        if (!options->properties[i].key || !options->properties[i].value)
            return ferry_error_set(FERRY_EINVAL, "ferry_net_export_onnx: properties[%zu] has no %s",
                                   i, options->properties[i].key ? "value" : "key");
    return FERRY_OK;
}

static int read_options(struct ferry__onnx *o, const ferry_onnx_options *options)
{
    if (check_properties(options))
        return FERRY_EINVAL;
    o->opset = options->opset ? options->opset : USUAL_OPSET;
    o->fold = !options->no_fold;
    o->half = options->half;
    o->external = options->external;
    o->dynamic_batch = options->dynamic_batch;
    o->quantized = options->quantized;
    if (o->quantized && (o->half || o->opset < QDQ_OPSET))
        return ferry_error_set(FERRY_EINVAL, "quantized: %s",
                               o->half ? "it excludes half" : "it requires opset 13 or later");
    if (o->opset >= LEAST_OPSET && o->opset <= MOST_OPSET)
        return FERRY_OK;
    return ferry_error_set(FERRY_EINVAL, "opset %d: %d to %d are supported", o->opset, LEAST_OPSET,
                           MOST_OPSET);
}

/* Creates the document, the graph's message, and the lists of values. */
static void begin(struct ferry__onnx *o, const char *path)
{
    size_t blobs = (size_t)o->net->n_blobs;

    o->err = ferry__proto_create(&ferry__proto_ModelProto, path, &o->model);
    if (o->err)
        return;
    o->document = o->model->document;
    o->held = ferry__onnx_alloc(o, (blobs + 1) * sizeof *o->held);
    o->inputs = ferry__onnx_alloc(o, (blobs + 1) * sizeof *o->inputs);
    o->outputs = ferry__onnx_alloc(o, (blobs + 1) * sizeof *o->outputs);
    o->graph = ferry__onnx_alloc(o, sizeof *o->graph);
    if (!o->err)
        o->err = ferry__proto_put_message(o->model, "graph", &o->graph->message);
    if (o->net->n_inputs && ferry_blob_rank(ferry_net_input_at(o->net, 0)) > 0)
        o->batch = ferry_blob_dim(ferry_net_input_at(o->net, 0), 0);
}

static int make_and_write(struct ferry__onnx *o, const char *path,
                          const ferry_onnx_options *options)
{
    begin(o, path);
    translate(o);
    end_outputs(o);
    if (o->fold)
        ferry__onnx_fold(o);
    if (o->quantized)
        ferry__onnx_quantize(o);
    ferry__onnx_finish(o, options);
    return o->err ? o->err : ferry__onnx_write(o, path);
}

int ferry_net_export_onnx(ferry_net *net, const char *path, const ferry_onnx_options *options)
{
    ferry_onnx_options taken = { .struct_size = sizeof taken };
    struct ferry__onnx o = { .net = net };
    int err;

    if (!net || !path)
        return ferry_error_set(FERRY_EINVAL, "ferry_net_export_onnx: %s is NULL",
                               net ? "path" : "net");
    if (options && !options->struct_size)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_net_export_onnx: the options' struct_size is 0");
    err = ferry__reread_keep(net);
    if (err)
        return err;
    if (options)
        memcpy(&taken, options,
               options->struct_size < sizeof taken ? options->struct_size : sizeof taken);
    err = read_options(&o, &taken);
    if (!err)
        err = ferry_net_reshape(net);
    if (!err)
        err = ferry__params_fill(net);
    if (!err)
        err = check_layers(&o);
    if (!err)
        err = make_and_write(&o, path, &taken);
    ferry__onnx_close(&o);
    return err;
}
