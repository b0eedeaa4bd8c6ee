/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/onnx/graph.h"

#include <ferry/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *ferry__onnx_alloc(struct ferry__onnx *o, size_t size)
{
    void *out = o->err ? NULL : ferry__mem_alloc(&o->document->arena, size);

    if (!out && !o->err)
        o->err = ferry_error_set(FERRY_ENOMEM, "no memory for the ONNX graph");
    return out;
}

/* Appends a zeroed element to an array of `count`; NULL after an error. */
static void *append(struct ferry__onnx *o, void *array, int *count, int *room, size_t size)
{
    void **base = array, *grown;

    if (o->err)
        return NULL;
    if (*count == *room) {
        int wanted = *room ? 2 * *room : 64;

        grown = realloc(*base, (size_t)wanted * size);
        if (!grown) {
            o->err = ferry_error_set(FERRY_ENOMEM, "no memory for the ONNX graph");
            return NULL;
        }
        *base = grown;
        *room = wanted;
    }
    return memset((char *)*base + (size_t)(*count)++ * size, 0, size);
}

void ferry__onnx_close(struct ferry__onnx *o)
{
    free(o->values);
    free(o->tensors);
    free(o->nodes);
    ferry_proto_close(o->model);
}

/* ---- values --------------------------------------------------------------------------------- */

int ferry__onnx_value(struct ferry__onnx *o)
{
    struct ferry__onnx_value *v;

    if (o->n_values == 0) /* value 0 means no value */
        append(o, &o->values, &o->n_values, &o->room_values, sizeof *o->values);
    v = append(o, &o->values, &o->n_values, &o->room_values, sizeof *o->values);
    if (!v)
        return 0;
    v->node = v->tensor = v->rank = -1;
    return o->n_values - 1;
}

int ferry__onnx_bottom(struct ferry__onnx *o, int index)
{
    return index < o->layer->n_bottoms ? o->held[o->layer->bottoms[index]] : 0;
}

void ferry__onnx_top(struct ferry__onnx *o, int index, int value)
{
    if (!o->err && index < o->layer->n_tops)
        o->held[o->layer->tops[index]] = value;
}

/* ---- tensors -------------------------------------------------------------------------------- */

static struct ferry__onnx_tensor *add_tensor(struct ferry__onnx *o, enum ferry__onnx_type type,
                                             int rank, const int64_t *dims)
{
    int value = ferry__onnx_value(o), i;
    struct ferry__onnx_tensor *t =
        append(o, &o->tensors, &o->n_tensors, &o->room_tensors, sizeof *o->tensors);

    if (!t)
        return NULL;
    t->value = value;
    t->type = type;
    t->rank = rank;
    t->count = 1;
    for (i = 0; i < rank; i++)
        t->count *= t->dims[i] = dims[i];
    o->values[value].tensor = o->n_tensors - 1;
    return t;
}

static bool is_shaped(const struct ferry__onnx_tensor *t, int rank, const int64_t *dims)
{
    return t->rank == rank && (!rank || !memcmp(t->dims, dims, (size_t)rank * sizeof *dims));
}

int ferry__onnx_blob(struct ferry__onnx *o, const ferry_blob *blob, int rank, const int64_t *dims)
{
    struct ferry__onnx_tensor *t;
    int i;

    for (i = 0; i < o->n_tensors && !o->err; i++) {
        t = &o->tensors[i];
        if (t->blob && !t->factors &&
            ferry_blob_data_memory(t->blob) == ferry_blob_data_memory(blob) &&
            is_shaped(t, rank, dims))
            return t->value;
    }
    t = add_tensor(o, FERRY__ONNX_FLOAT, rank, dims);
    if (!t)
        return 0;
    t->blob = blob;
    t->half = o->half;
    return t->value;
}

int ferry__onnx_param(struct ferry__onnx *o, int index, int rank, const int64_t *dims)
{
    ferry_blob *blob = ferry_layer_param_at(o->layer, index);
    int value = blob ? ferry__onnx_blob(o, blob, rank, dims) : 0;
    size_t size = strlen(o->layer->name) + 16;
    struct ferry__onnx_tensor *t = value ? &o->tensors[o->values[value].tensor] : NULL;
    char *name = t && !t->name ? ferry__onnx_alloc(o, size) : NULL;

    if (name) {
        snprintf(name, size, "%s/%d", o->layer->name, index);
        t->name = name;
    }
    return value;
}

int ferry__onnx_tensor_copy(struct ferry__onnx *o, int value)
{
    struct ferry__onnx_tensor copy = o->tensors[o->values[value].tensor], *t;

    t = add_tensor(o, copy.type, copy.rank, copy.dims);
    if (!t)
        return 0;
    copy.value = t->value;
    *t = copy;
    return t->value;
}

/* Adds a constant with those bytes; an equal one is reused. */
static int add_bytes(struct ferry__onnx *o, enum ferry__onnx_type type, int rank,
                     const int64_t *dims, const void *bytes, size_t size)
{
    struct ferry__onnx_tensor *t;
    int i;

    for (i = 0; i < o->n_tensors && !o->err && size <= 64; i++) {
        t = &o->tensors[i];
        if (t->bytes && t->type == type && !t->half && is_shaped(t, rank, dims) &&
            !memcmp(t->bytes, bytes, size))
            return t->value;
    }
    t = add_tensor(o, type, rank, dims);
    if (!t)
        return 0;
    t->bytes = ferry__onnx_alloc(o, size + 1);
    if (t->bytes && size)
        memcpy(t->bytes, bytes, size);
    return t->value;
}

int ferry__onnx_ints(struct ferry__onnx *o, int n, const int64_t *numbers)
{
    return add_bytes(o, FERRY__ONNX_INT64, 1, &(int64_t){ n }, numbers,
                     (size_t)n * sizeof *numbers);
}

int ferry__onnx_int(struct ferry__onnx *o, int64_t number)
{
    return add_bytes(o, FERRY__ONNX_INT64, 0, NULL, &number, sizeof number);
}

int ferry__onnx_floats(struct ferry__onnx *o, int rank, const int64_t *dims, const float *numbers)
{
    size_t n = 1;
    int i;

    for (i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    return add_bytes(o, FERRY__ONNX_FLOAT, rank, dims, numbers, n * sizeof *numbers);
}

int ferry__onnx_float(struct ferry__onnx *o, double number)
{
    return ferry__onnx_floats(o, 0, NULL, &(float){ (float)number });
}

int ferry__onnx_byte(struct ferry__onnx *o, enum ferry__onnx_type type, float number)
{
    return add_bytes(o, type, 0, NULL, &number, sizeof number);
}

int ferry__onnx_rounded(struct ferry__onnx *o, int rank, const int64_t *dims, const double *numbers)
{
    size_t n = 1, i;
    float *rounded;

    for (i = 0; i < (size_t)rank; i++)
        n *= (size_t)dims[i];
    rounded = ferry__onnx_alloc(o, (n + 1) * sizeof *rounded);
    for (i = 0; rounded && i < n; i++)
        rounded[i] = (float)numbers[i];
    return rounded ? ferry__onnx_floats(o, rank, dims, rounded) : 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Copies n numbers, with room for one more. */
static int *copy_values(struct ferry__onnx *o, const int *values, int n)
{
    int *out = ferry__onnx_alloc(o, (size_t)(n + 1) * sizeof *out);

    if (out && n)
        memcpy(out, values, (size_t)n * sizeof *out);
    return out;
}

static struct ferry__onnx_node *latest(struct ferry__onnx *o)
{
    return o->err ? NULL : &o->nodes[o->n_nodes - 1];
}

int ferry__onnx_op(struct ferry__onnx *o, const char *type, int n, const int *in)
{
    struct ferry__onnx_node *node =
        append(o, &o->nodes, &o->n_nodes, &o->room_nodes, sizeof *o->nodes);

    if (!node)
        return 0;
    node->layer = o->layer;
    node->graph = o->graph;
    node->in = copy_values(o, in, n);
    node->n_in = n;
    node->message = ferry__proto_new(o->document, &ferry__proto_NodeProto);
    if (!node->message)
        o->err = ferry__proto_no_memory(o->document);
    if (!o->err)
        o->err = ferry__proto_put_string(node->message, "op_type", type);
    return ferry__onnx_more(o);
}

int ferry__onnx_more(struct ferry__onnx *o)
{
    struct ferry__onnx_node *node = latest(o);
    int value = ferry__onnx_value(o), *out;

    if (!value)
        return 0;
    out = copy_values(o, node->out, node->n_out);
    if (!out)
        return 0;
    node->out = out;
    out[node->n_out++] = value;
    o->values[value].node = o->n_nodes - 1;
    return value;
}

/* Adds an attribute to the latest node; NULL after an error. */
static ferry_proto *add_attribute(struct ferry__onnx *o, const char *name,
                                  enum ferry__onnx_attribute type)
{
    struct ferry__onnx_node *node = latest(o);
    ferry_proto *a = NULL;

    if (!node)
        return NULL;
    o->err = ferry__proto_put_message(node->message, "attribute", &a);
    if (!o->err)
        o->err = ferry__proto_put_string(a, "name", name);
    if (!o->err)
        o->err = ferry__proto_put_integer(a, "type", type);
    return o->err ? NULL : a;
}

void ferry__onnx_set_int(struct ferry__onnx *o, const char *name, int64_t value)
{
    ferry_proto *a = add_attribute(o, name, FERRY__ONNX_ATTRIBUTE_INT);

    if (a)
        o->err = ferry__proto_put_integer(a, "i", value);
}

void ferry__onnx_set_ints(struct ferry__onnx *o, const char *name, int n, const int64_t *values)
{
    ferry_proto *a = add_attribute(o, name, FERRY__ONNX_ATTRIBUTE_INTS);
    int i;

    for (i = 0; a && !o->err && i < n; i++)
        o->err = ferry__proto_put_integer(a, "ints", values[i]);
}

void ferry__onnx_set_float(struct ferry__onnx *o, const char *name, double value)
{
    ferry_proto *a = add_attribute(o, name, FERRY__ONNX_ATTRIBUTE_FLOAT);

    if (a)
        o->err = ferry__proto_put_real(a, "f", value);
}

void ferry__onnx_set_string(struct ferry__onnx *o, const char *name, const char *value)
{
    ferry_proto *a = add_attribute(o, name, FERRY__ONNX_ATTRIBUTE_STRING);

    if (a)
        o->err = ferry__proto_put_string(a, "s", value);
}

void ferry__onnx_set_affine(struct ferry__onnx *o, const struct ferry__onnx_affine *affine)
{
    size_t size = (size_t)affine->channels * sizeof(double);
    struct ferry__onnx_affine *copy = ferry__onnx_alloc(o, sizeof *copy);

    if (!copy)
        return;
    *copy = *affine;
    copy->factors = ferry__onnx_alloc(o, size);
    copy->terms = ferry__onnx_alloc(o, size);
    if (o->err)
        return;
    memcpy(copy->factors, affine->factors, size);
    memcpy(copy->terms, affine->terms, size);
    latest(o)->affine = copy;
}

void ferry__onnx_set_absorbs(struct ferry__onnx *o, int axis, int64_t channels, int64_t inner)
{
    int weights = o->err ? 0 : o->values[latest(o)->in[1]].tensor;

    if (o->err || weights < 0)
        return;
    latest(o)->absorbs = 1 + axis;
    o->tensors[weights].channels = channels;
    o->tensors[weights].inner = inner;
}

/* ---- bodies --------------------------------------------------------------------------------- */

struct ferry__onnx_graph *ferry__onnx_body_begin(struct ferry__onnx *o)
{
    struct ferry__onnx_graph *g = ferry__onnx_alloc(o, sizeof *g);

    if (!g)
        return NULL;
    g->outer = o->graph;
    o->graph = g;
    return g;
}

int ferry__onnx_body_in(struct ferry__onnx *o, int rank)
{
    int value = ferry__onnx_value(o);

    if (!value)
        return 0;
    o->values[value].rank = rank;
    return o->graph->in[o->graph->n_in++] = value;
}

void ferry__onnx_body_out(struct ferry__onnx *o, int value, int rank)
{
    if (o->err)
        return;
    o->values[value].rank = rank;
    o->graph->out[o->graph->n_out++] = value;
}

void ferry__onnx_body_end(struct ferry__onnx *o)
{
    if (!o->err)
        o->graph = o->graph->outer;
}

void ferry__onnx_set_body(struct ferry__onnx *o, struct ferry__onnx_graph *body)
{
    ferry_proto *a = add_attribute(o, "body", FERRY__ONNX_ATTRIBUTE_GRAPH);

    if (!a)
        return;
    latest(o)->body = body;
    o->err = ferry__proto_put_message(a, "g", &body->message);
}
