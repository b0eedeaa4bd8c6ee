/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills the model's message from nodes and tensors: finds the used ones, and sets their names and
 * types.
 */
#include "net/onnx/graph.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- use ------------------------------------------------------------------------------------ */

static void use_values(struct ferry__onnx *o, const int *values, int n)
{
    for (int i = 0; i < n; i++)
        o->values[values[i]].uses = 1;
}

/*
 * Finds the used nodes and tensors. The nodes are sorted: each precedes the nodes that read its
 * outputs.
 */
static void find_used(struct ferry__onnx *o)
{
    int i, k;

    for (i = 0; i < o->n_values; i++)
        o->values[i].uses = 0;
    use_values(o, o->outputs, o->n_outputs);
    for (i = o->n_nodes; i-- > 0;) {
        struct ferry__onnx_node *node = &o->nodes[i];

        for (k = 0; k < node->n_out; k++)
            node->used = node->used || o->values[node->out[k]].uses;
        if (!node->used)
            continue;
        use_values(o, node->in, node->n_in);
        if (node->body)
            use_values(o, node->body->out, node->body->n_out);
    }
    for (i = 0; i < o->n_tensors; i++)
        o->tensors[i].used = o->values[o->tensors[i].value].uses;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The names in use, of values or of nodes. */
struct naming {
    struct ferry__onnx *o;
    struct ferry__names taken;
};

/* `name`, with a number appended if it is in use. */
static const char *unique(struct naming *n, const char *name, int number)
{
    size_t size = strlen(name) + 16;
    char *out = ferry__onnx_alloc(n->o, size);

    if (!out)
        return "";
    snprintf(out, size, "%s", name);
    while (ferry__names_get(&n->taken, out) >= 0)
        snprintf(out, size, "%s:%d", name, number++);
    n->o->err = ferry__names_set(&n->taken, out, 1, false);
    return out;
}

/* Makes a name LAYER/Operator:number. */
static const char *automatic(struct naming *n, const struct ferry__onnx_node *node, int number)
{
    const char *type = ferry_proto_string(node->message, "op_type", 0, NULL);
    const char *layer = node->layer ? node->layer->name : "net";
    size_t size = strlen(layer) + strlen(type) + 24;
    char *name = ferry__onnx_alloc(n->o, size);

    if (!name)
        return "";
    snprintf(name, size, "%s/%s:%d", layer, type, number);
    return unique(n, name, number);
}

static void name_value(struct naming *n, int value, const char *name)
{
    if (!n->o->err && value && !n->o->values[value].name)
        n->o->values[value].name = unique(n, name, value);
}

static void name_tensors(struct naming *n)
{
    char name[24];

    for (int i = 0; i < n->o->n_tensors; i++) {
        const struct ferry__onnx_tensor *t = &n->o->tensors[i];

        snprintf(name, sizeof name, "constant:%d", t->value);
        if (t->used)
            name_value(n, t->value, t->name ? t->name : name);
    }
}

/*
 * Names the values. Inputs and outputs get the names of their blobs, as does any other value that
 * is the final value of a blob.
 */
static void name_values(struct ferry__onnx *o)
{
    struct naming n = { .o = o };
    int i, k;

    for (i = 0; i < o->n_inputs; i++)
        name_value(&n, o->inputs[i], o->values[o->inputs[i]].blob_name);
    for (i = 0; i < o->n_outputs; i++)
        name_value(&n, o->outputs[i], o->values[o->outputs[i]].blob_name);
    for (i = 0; i < o->net->n_blobs && !o->err; i++)
        if (o->held[i] && o->values[o->held[i]].uses && o->values[o->held[i]].tensor < 0)
            name_value(&n, o->held[i], o->net->blobs[i].name);
    name_tensors(&n);
    for (i = 0; i < o->n_nodes; i++)
        for (k = 0; k < o->nodes[i].n_out && !o->err; k++) {
            int value = o->nodes[i].out[k];

            if (o->nodes[i].used && !o->values[value].name)
                o->values[value].name = automatic(&n, &o->nodes[i], value);
        }
    for (i = 1; i < o->n_values && !o->err; i++) /* names the inputs of a body */
        if (!o->values[i].name && o->values[i].rank >= 0)
            name_value(&n, i, "step");
    ferry__names_end(&n.taken);
}

/* ---- types ---------------------------------------------------------------------------------- */

static int put_dim(ferry_proto *shape, int64_t size, const char *param)
{
    ferry_proto *dim;
    int err = ferry__proto_put_message(shape, "dim", &dim);

    if (!err && param)
        err = ferry__proto_put_string(dim, "dim_param", param);
    else if (!err && size >= 0)
        err = ferry__proto_put_integer(dim, "dim_value", size);
    return err;
}

/* Describes a float value with those dims; −1 is any size, and −2 the batch size. */
static void put_info(struct ferry__onnx *o, ferry_proto *graph, const char *field, int value,
                     int rank, const int64_t *dims)
{
    ferry_proto *info = NULL, *type = NULL, *tensor = NULL, *shape = NULL;

    if (o->err)
        return;
    o->err = ferry__proto_put_message(graph, field, &info);
    if (!o->err)
        o->err = ferry__proto_put_string(info, "name", o->values[value].name);
    if (!o->err)
        o->err = ferry__proto_put_message(info, "type", &type);
    if (!o->err)
        o->err = ferry__proto_put_message(type, "tensor_type", &tensor);
    if (!o->err)
        o->err = ferry__proto_put_integer(tensor, "elem_type", FERRY__ONNX_FLOAT);
    if (!o->err)
        o->err = ferry__proto_put_message(tensor, "shape", &shape);
    for (int i = 0; i < rank && !o->err; i++)
        o->err = put_dim(shape, dims ? dims[i] : -1, dims && dims[i] == -2 ? "N" : NULL);
}

/* Whether the shapes from that layer on depend on contents of blobs. */
static bool is_open(const struct ferry__onnx *o, int layer)
{
    for (int i = 0; i <= layer; i++)
        if (o->net->layers[i].type->flags & FERRY_LAYER_RESHAPES)
            return true;
    return false;
}

static void put_blob(struct ferry__onnx *o, ferry_proto *graph, const char *field, int value)
{
    int index = o->err ? 0 : ferry__net_find_blob(o->net, o->values[value].blob_name), rank;
    const struct ferry__net_blob *b = &o->net->blobs[index];
    int64_t dims[FERRY_MAX_AXES];

    rank = ferry_blob_rank(b->blob);
    memcpy(dims, ferry_blob_shape(b->blob), (size_t)rank * sizeof *dims);
    if (o->dynamic_batch && rank > 0)
        dims[0] = dims[0] == o->batch ? -2 : -1;
    put_info(o, graph, field, value, rank, is_open(o, b->producer) ? NULL : dims);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void put_values(struct ferry__onnx *o, ferry_proto *p, const char *field, const int *values,
                       int n)
{
    for (int i = 0; i < n && !o->err; i++)
        o->err = ferry__proto_put_string(p, field, values[i] ? o->values[values[i]].name : "");
}

static bool is_last_of_layer(const struct ferry__onnx *o, int index)
{
    for (int i = index + 1; i < o->n_nodes && o->nodes[i].layer == o->nodes[index].layer; i++)
        if (o->nodes[i].used)
            return false;
    return true;
}

static void add_message(struct ferry__onnx *o, ferry_proto *graph, ferry_proto *node)
{
    const struct ferry__proto_field *field = ferry__proto_field_of(graph->type, "node", 4);
    struct ferry__proto_value *value =
        o->err ? NULL : ferry__proto_append(graph, field, "node", FERRY__PROTO_MESSAGE);

    if (value)
        value->as.message = node;
    else if (!o->err)
        o->err = ferry__proto_no_memory(o->document);
}

/* The layer's last node gets the layer's name, the others names derived from it. */
static void put_node(struct naming *n, int index)
{
    struct ferry__onnx *o = n->o;
    struct ferry__onnx_node *node = &o->nodes[index];
    ferry_proto *p = node->message;
    const ferry_layer *layer = node->layer;
    const char *name;
    char doc[400];

    if (o->err || !node->used)
        return;
    name = layer && is_last_of_layer(o, index) ? unique(n, layer->name, index)
                                               : automatic(n, node, index);
    if (!o->err)
        o->err = ferry__proto_put_string(p, "name", name);
    if (layer) {
        snprintf(doc, sizeof doc, "%s layer %s", layer->type->name, layer->name);
        if (!o->err)
            o->err = ferry__proto_put_string(p, "doc_string", doc);
    }
    put_values(o, p, "input", node->in, node->n_in);
    put_values(o, p, "output", node->out, node->n_out);
    add_message(o, node->graph->message, p);
}

static void put_body(struct ferry__onnx *o, const struct ferry__onnx_graph *g)
{
    int i;

    if (!o->err)
        o->err = ferry__proto_put_string(g->message, "name", "step");
    for (i = 0; i < g->n_in; i++)
        put_info(o, g->message, "input", g->in[i], o->values[g->in[i]].rank, NULL);
    for (i = 0; i < g->n_out; i++)
        put_info(o, g->message, "output", g->out[i], o->values[g->out[i]].rank, NULL);
}

/* Writes the nodes. Those from `casts` on come first. */
static void put_graph(struct ferry__onnx *o, int casts)
{
    struct naming nodes = { .o = o };
    ferry_proto *g = o->graph->message;
    int i;

    if (!o->err)
        o->err = ferry__proto_put_string(g, "name", *o->net->name ? o->net->name : "net");
    for (i = casts; i < o->n_nodes; i++)
        put_node(&nodes, i);
    for (i = 0; i < casts; i++) {
        put_node(&nodes, i);
        if (!o->err && o->nodes[i].used && o->nodes[i].body)
            put_body(o, o->nodes[i].body);
    }
    for (i = 0; i < o->n_inputs; i++)
        put_blob(o, g, "input", o->inputs[i]);
    for (i = 0; i < o->n_outputs; i++)
        put_blob(o, g, "output", o->outputs[i]);
    ferry__names_end(&nodes.taken);
}

/* The version of ONNX's format that was released with an operator set. */
static int ir_version(int opset)
{
    return opset <= 11 ? 6 : opset <= 14 ? 7 : opset <= 18 ? 8 : opset <= 20 ? 9 : 10;
}

static void put_property(struct ferry__onnx *o, const ferry_onnx_property *property)
{
    ferry_proto *entry;

    if (!o->err)
        o->err = ferry__proto_put_message(o->model, "metadata_props", &entry);
    if (!o->err)
        o->err = ferry__proto_put_string(entry, "key", property->key);
    if (!o->err)
        o->err = ferry__proto_put_string(entry, "value", property->value);
}

static void put_model(struct ferry__onnx *o, const ferry_onnx_options *options)
{
    ferry_proto *opset;
    size_t i;

    if (!o->err)
        o->err = ferry__proto_put_integer(o->model, "ir_version", ir_version(o->opset));
    if (!o->err)
        o->err = ferry__proto_put_string(o->model, "producer_name", "ferry");
    if (!o->err)
        o->err = ferry__proto_put_string(o->model, "producer_version", ferry_version());
    if (!o->err && options->doc)
        o->err = ferry__proto_put_string(o->model, "doc_string", options->doc);
    if (!o->err)
        o->err = ferry__proto_put_message(o->model, "opset_import", &opset);
    if (!o->err)
        o->err = ferry__proto_put_string(opset, "domain", "");
    if (!o->err)
        o->err = ferry__proto_put_integer(opset, "version", o->opset);
    for (i = 0; i < options->property_count; i++)
        put_property(o, &options->properties[i]);
}

/* Adds a Cast for each FLOAT16 tensor; the nodes read its result. */
static void cast_halves(struct ferry__onnx *o)
{
    int i, n = o->n_tensors;

    for (i = 0; i < n && !o->err; i++) {
        struct ferry__onnx_tensor *t = &o->tensors[i];
        int value = t->value, stored, made;

        if (!t->used || !t->half)
            continue;
        stored = ferry__onnx_value(o);
        o->layer = NULL;
        made = ONNX_OP(o, "Cast", stored);
        ferry__onnx_set_int(o, "to", FERRY__ONNX_FLOAT);
        if (o->err)
            return;
        o->nodes[o->n_nodes - 1].out[0] = value;
        o->nodes[o->n_nodes - 1].used = true;
        o->values[value].node = o->n_nodes - 1;
        o->values[value].tensor = -1;
        o->values[made].node = -1;
        o->values[stored].tensor = i;
        o->tensors[i].value = stored;
    }
}

void ferry__onnx_finish(struct ferry__onnx *o, const ferry_onnx_options *options)
{
    int casts = o->n_nodes;

    if (!o->err)
        find_used(o);
    cast_halves(o);
    if (!o->err)
        name_values(o);
    put_model(o, options);
    if (!o->err)
        put_graph(o, casts);
}
