/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/import.h"

#include "net/import/build.h"
#include "net/import/fold.h"
#include "net/import/ops.h"
#include "net/model/state.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operator sets that are supported. */
#define OLDEST_OPSET 7
#define NEWEST_OPSET 28

struct ferry__onnx_model {
    struct ferry__import_file file;
    struct ferry__import im;
};

/*
 * Detects a ModelProto: it begins with ir_version, field 1, a small number. In Caffe's messages
 * field 1 is a string.
 */
bool ferry__import_is_onnx(const char *path)
{
    size_t size = strlen(path);
    FILE *file;
    int first, second;

    if (size > 5 && !strcmp(path + size - 5, ".onnx"))
        return true;
    file = fopen(path, "rbe");
    if (!file)
        return false;
    first = getc(file);
    second = getc(file);
    fclose(file);
    return first == 8 && second > 0 && second < 64;
}

/* ---- contents of the graph ------------------------------------------------------------------- */

static int64_t opset_of(struct ferry__import *im, const ferry_proto *model)
{
    int64_t opset = 0;

    for (int64_t i = 0; i < ferry_proto_value_count(model, "opset_import"); i++) {
        const ferry_proto *set = ferry_proto_message(model, "opset_import", i);
        const char *domain = ferry_proto_string(set, "domain", 0, NULL);

        if (!*domain || !strcmp(domain, "ai.onnx"))
            opset = ferry_proto_integer(set, "version", 0);
    }
    if (opset < OLDEST_OPSET || opset > NEWEST_OPSET)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "operator set %lld; %d to %d are read",
                           (long long)opset, OLDEST_OPSET, NEWEST_OPSET);
    return opset;
}

static void set_constant(struct ferry__import *im, const char *name,
                         const struct ferry__import_tensor *t)
{
    struct ferry__import_value *x = ferry__import_value_named(im, name);

    if (!im->err && x->constant)
        ferry__import_fail(im, FERRY_EFORMAT, "two initializers \"%.150s\"", name);
    if (im->err)
        return;
    x->constant = true;
    x->tensor = *t;
    x->shape = t->shape;
}

static void read_initializers(struct ferry__import *im, const ferry_proto *graph)
{
    struct ferry__import_tensor t;
    int64_t i;

    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "initializer"); i++) {
        const ferry_proto *message = ferry_proto_message(graph, "initializer", i);
        const char *name = ferry_proto_string(message, "name", 0, NULL);

        im->err = ferry__import_tensor_read(im->file, message, name, &im->arena, &t);
        set_constant(im, name, &t);
    }
    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "sparse_initializer"); i++) {
        const ferry_proto *message = ferry_proto_message(graph, "sparse_initializer", i);
        const char *name =
            ferry_proto_string(ferry_proto_message(message, "values", 0), "name", 0, NULL);

        im->err = ferry__import_tensor_read_sparse(im->file, message, name, &im->arena, &t);
        set_constant(im, name, &t);
    }
}

/* The shape of an input in the model. Axis 0 is 1 if the model leaves it open. */
static struct ferry__import_shape shape_of(struct ferry__import *im, const ferry_proto *input)
{
    const ferry_proto *type =
        ferry_proto_message(ferry_proto_message(input, "type", 0), "tensor_type", 0);
    const ferry_proto *given = ferry_proto_message(type, "shape", 0);
    const char *name = ferry_proto_string(input, "name", 0, NULL);
    int element = (int)ferry_proto_integer(type, "elem_type", 0);
    int64_t rank = ferry_proto_value_count(given, "dim");
    struct ferry__import_shape shape = { .rank = (int)rank };

    if (!ferry__import_type_size(element) || ferry__import_type_is_integer(element))
        ferry__import_fail(im, FERRY_EUNSUPPORTED,
                           "input \"%.150s\" has elements of type %d, not real numbers", name,
                           element);
    if (rank > FERRY_OP_AXES)
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "input \"%.150s\" has %lld axes", name,
                           (long long)rank);
    for (int i = 0; !im->err && i < rank; i++) {
        const ferry_proto *dim = ferry_proto_message(given, "dim", i);

        shape.dim[i] = ferry_proto_integer(dim, "dim_value", 0);
        if (shape.dim[i] < 1 && !i && !ferry_proto_value_count(dim, "dim_value"))
            shape.dim[i] = 1;
        if (shape.dim[i] < 1)
            ferry__import_fail(im, FERRY_EUNSUPPORTED,
                               "axis %d of input \"%.150s\" (\"%.60s\") has no size", i, name,
                               ferry_proto_string(dim, "dim_param", 0, NULL));
    }
    return shape;
}

static void read_input(struct ferry__import *im, const ferry_proto *input)
{
    const char *name = ferry_proto_string(input, "name", 0, NULL);
    struct ferry__import_value *x = ferry__import_value_named(im, name);
    struct ferry__import_shape shape;
    ferry_proto *layer = NULL, *p = NULL, *dims = NULL;
    int err;

    if (im->err || x->constant) /* the default of an initializer, which older models list as an
                                 * input */
        return;
    if (x->blob || !*name) {
        ferry__import_fail(im, FERRY_EFORMAT, "two inputs \"%.150s\"", name);
        return;
    }
    shape = shape_of(im, input);
    if (im->err)
        return;
    x->shape = shape;
    x->blob = x->name;
    err = ferry__proto_put_message(im->net, "layer", &layer);
    err = err ? err : ferry__proto_put_string(layer, "name", name);
    err = err ? err : ferry__proto_put_string(layer, "type", "Input");
    err = err ? err : ferry__proto_put_string(layer, "top", name);
    err = err ? err : ferry__proto_put_message(layer, "input_param", &p);
    err = err ? err : ferry__proto_put_message(p, "shape", &dims);
    for (int i = 0; !err && i < shape.rank; i++)
        err = ferry__proto_put_integer(dims, "dim", shape.dim[i]);
    if (!err)
        err = ferry__names_set(&im->layer_names, x->name, 0, false);
    im->err = err;
}

/* Counts the nodes and outputs that read each value. */
static void count_uses(struct ferry__import *im, const ferry_proto *graph)
{
    int64_t i, k;

    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "output"); i++) {
        struct ferry__import_value *x = ferry__import_value_named(
            im, ferry_proto_string(ferry_proto_message(graph, "output", i), "name", 0, NULL));

        if (im->err)
            return;
        x->output = true;
        x->uses++;
    }
    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "node"); i++) {
        const ferry_proto *node = ferry_proto_message(graph, "node", i);

        for (k = 0; !im->err && k < ferry_proto_value_count(node, "input"); k++) {
            struct ferry__import_value *x =
                ferry__import_value_named(im, ferry_proto_string(node, "input", k, NULL));

            if (im->err)
                return;
            x->uses++;
            x->user = node;
        }
    }
}

/* ---- the nodes ------------------------------------------------------------------------------- */

static bool is_used(struct ferry__import *im, const ferry_proto *node)
{
    for (int64_t i = 0; i < ferry_proto_value_count(node, "output"); i++) {
        const char *name = ferry_proto_string(node, "output", i, NULL);

        if (*name && ferry__import_value_named(im, name)->uses)
            return true;
    }
    return false;
}

static void convert(struct ferry__import *im, const ferry_proto *node)
{
    const char *domain = ferry_proto_string(node, "domain", 0, NULL);
    const struct ferry__import_op *op;

    ferry__import_node_begin(im, node);
    if (*domain && strcmp(domain, "ai.onnx"))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "an operator of domain \"%.60s\"", domain);
    op = ferry__import_op_of(ferry__import_operator(im));
    if (!im->err && !ferry__import_fold(im)) {
        if (op)
            op->convert(im);
        else
            ferry__import_fail(im, FERRY_EUNSUPPORTED, "ferry has no layer of this operator");
    }
    ferry__import_node_end(im);
}

static void build(struct ferry__import *im)
{
    const ferry_proto *graph = ferry_proto_message(im->file->model, "graph", 0);
    int64_t i;

    im->opset = opset_of(im, im->file->model);
    if (!im->err)
        im->err =
            ferry__proto_put_string(im->net, "name", ferry_proto_string(graph, "name", 0, NULL));
    read_initializers(im, graph);
    count_uses(im, graph);
    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "input"); i++)
        read_input(im, ferry_proto_message(graph, "input", i));
    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "node"); i++)
        if (is_used(im, ferry_proto_message(graph, "node", i)))
            convert(im, ferry_proto_message(graph, "node", i));
    for (i = 0; !im->err && i < ferry_proto_value_count(graph, "output"); i++)
        ferry__import_output(
            im, ferry_proto_string(ferry_proto_message(graph, "output", i), "name", 0, NULL));
    ferry__import_silence(im);
}

int ferry__import_open(const char *path, struct ferry__onnx_model **out, ferry_proto **out_net)
{
    struct ferry__onnx_model *model = calloc(1, sizeof *model);
    int err;

    if (!model)
        return ferry_error_set(FERRY_ENOMEM, "%.300s: no memory", path);
    err = ferry__import_file_open(path, &model->file);
    if (err) {
        free(model);
        return err;
    }
    model->im.file = &model->file;
    err = ferry__proto_create(&ferry__proto_NetParameter, path, &model->im.net);
    model->im.err = err;
    if (!err)
        build(&model->im);
    if (model->im.err) {
        err = model->im.err;
        ferry_proto_close(model->im.net);
        ferry__import_close(model);
        return err;
    }
    *out_net = model->im.net;
    model->im.net = NULL;
    *out = model;
    return 0;
}

void ferry__import_close(struct ferry__onnx_model *model)
{
    if (!model)
        return;
    ferry__import_build_end(&model->im);
    ferry__import_file_close(&model->file);
    free(model);
}

/* ---- parameters ------------------------------------------------------------------------------ */

int ferry__import_load(const struct ferry__onnx_model *model, ferry_net *net)
{
    const struct ferry__import *im = &model->im;

    for (int i = 0; i < im->n_weights; i++) {
        const struct ferry__import_weights *w = &im->weights[i];
        int at = ferry__net_find_layer(net, w->layer);
        ferry_layer *layer = at < 0 ? NULL : &net->layers[at];
        ferry_blob *blob;
        float *to;

        if (!layer || w->index >= layer->n_params ||
            ferry_blob_element_count(layer->params[w->index].blob) != w->tensor.count)
            return ferry_error_set(FERRY_ESHAPE,
                                   "%.300s: parameter %d of layer \"%.150s\" does not match",
                                   model->file.path, w->index, w->layer);
        blob = layer->params[w->index].blob;
        to = ferry_blob_overwrite_host_data(blob);
        if (!to)
            return ferry_last_error_code();
        ferry__import_tensor_copy(&w->tensor, to);
        layer->params[w->index].unfilled = false;
    }
    return 0;
}
