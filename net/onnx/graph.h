/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ONNX graph in the making: values, the tensors and nodes that make them. The first error is
 * kept in `err`; every later call does nothing, so that a sequence of calls needs one check.
 *
 * A value is a number from 1; 0 is an optional input that is left out, and what a call returns
 * after an error.
 */
#ifndef FERRY_NET_ONNX_GRAPH_H
#define FERRY_NET_ONNX_GRAPH_H

#include "net/model/state.h"
#include "net/onnx/schema.h"
#include "net/proto/tree.h"

#include <ferry/onnx.h>

/* A channel's factor and term: y = factor · x + term, for each index of axis `axis`. */
struct ferry__onnx_affine {
    int axis;
    int64_t channels; /* 1: one for all */
    double *factors, *terms;
};

/* A constant. Its values are `bytes`, or those of `blob`, times `factors` where there are any. */
struct ferry__onnx_tensor {
    int value;
    const char *name; /* NULL: of the value's number */
    enum ferry__onnx_type type;
    int rank;
    int64_t dims[FERRY_MAX_AXES + 2];
    int64_t count;
    const ferry_blob *blob;
    void *bytes;
    double *factors; /* `channels` of them; element i has that of i / inner % channels */
    int64_t channels, inner;
    bool half;           /* stored as FLOAT16 */
    ferry_proto *header; /* its message without the values */
    uint64_t offset;     /* in the file of external data */
    bool used, outside;  /* there */
};

struct ferry__onnx_node {
    ferry_proto *message;
    const ferry_layer *layer;
    int *in, *out;
    int n_in, n_out;
    struct ferry__onnx_graph *graph;   /* that the node is in */
    struct ferry__onnx_graph *body;    /* of an attribute; NULL: none */
    struct ferry__onnx_affine *affine; /* what the node does; NULL: something else */
    int absorbs; /* 1 + the axis at which inputs 1 and 2 take in an affine function; 0: none */
    bool used;
};

/* The model's graph, or a body of Scan. */
struct ferry__onnx_graph {
    struct ferry__onnx_graph *outer;
    ferry_proto *message;
    int in[16], out[16]; /* of a body */
    int n_in, n_out;
};

struct ferry__onnx_value {
    const char *name;
    int node;   /* that makes it; −1: none */
    int tensor; /* likewise */
    int uses;
    int rank;              /* of the values of a body's inputs: their type; −1: not declared */
    const char *blob_name; /* of the net, for inputs and outputs of the model */
};

/* An export. */
struct ferry__onnx {
    ferry_net *net;
    int opset;
    bool fold, half, external, dynamic_batch;
    int64_t batch; /* axis 0 of the first input */
    int err;
    struct ferry__proto_document *document;
    ferry_proto *model;
    struct ferry__onnx_graph *graph; /* that nodes are added to */
    ferry_layer *layer;              /* that is translated */
    struct ferry__onnx_value *values;
    struct ferry__onnx_tensor *tensors;
    struct ferry__onnx_node *nodes;
    int n_values, n_tensors, n_nodes, room_values, room_tensors, room_nodes;
    int *held; /* for each blob of the net the value that it holds; 0: none yet */
    int *inputs, *outputs;
    int n_inputs, n_outputs;
};

/* Memory until the export ends; NULL after an error. */
void *ferry__onnx_alloc(struct ferry__onnx *o, size_t size);

/* Frees everything. */
void ferry__onnx_close(struct ferry__onnx *o);

/* ---- values --------------------------------------------------------------------------------- */

/* A value without a maker, for an input of a graph. */
int ferry__onnx_value(struct ferry__onnx *o);

/* The value of the layer's bottom. */
int ferry__onnx_bottom(struct ferry__onnx *o, int index);

/* Makes a value the layer's top. */
void ferry__onnx_top(struct ferry__onnx *o, int index, int value);

/* ---- tensors -------------------------------------------------------------------------------- */

/* A parameter of the layer, or another blob of constants, in that shape. */
int ferry__onnx_param(struct ferry__onnx *o, int index, int rank, const int64_t *dims);
int ferry__onnx_blob(struct ferry__onnx *o, const ferry_blob *blob, int rank, const int64_t *dims);

/* A tensor of the same values, for changes. */
int ferry__onnx_tensor_copy(struct ferry__onnx *o, int value);

/* Numbers, copied. An int64 list; one of them as a scalar. Floats; one of them as a scalar. */
int ferry__onnx_ints(struct ferry__onnx *o, int n, const int64_t *numbers);
int ferry__onnx_int(struct ferry__onnx *o, int64_t number);
int ferry__onnx_floats(struct ferry__onnx *o, int rank, const int64_t *dims, const float *numbers);
int ferry__onnx_float(struct ferry__onnx *o, double number);
/* The same from doubles, rounded once. */
int ferry__onnx_rounded(struct ferry__onnx *o, int rank, const int64_t *dims,
                        const double *numbers);

/* ---- nodes ---------------------------------------------------------------------------------- */

/* A node of those inputs; its first output. */
int ferry__onnx_op(struct ferry__onnx *o, const char *type, int n, const int *in);

#define ONNX_INTS(...)                                                       \
    (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)), (const int[]) \
    {                                                                        \
        __VA_ARGS__                                                          \
    }
#define ONNX_OP(o, type, ...) ferry__onnx_op(o, type, ONNX_INTS(__VA_ARGS__))

/* A further output of the latest node. */
int ferry__onnx_more(struct ferry__onnx *o);

/* Attributes of the latest node. */
void ferry__onnx_set_int(struct ferry__onnx *o, const char *name, int64_t value);
void ferry__onnx_set_ints(struct ferry__onnx *o, const char *name, int n, const int64_t *values);
void ferry__onnx_set_float(struct ferry__onnx *o, const char *name, double value);
void ferry__onnx_set_string(struct ferry__onnx *o, const char *name, const char *value);

/* What the latest node does to each channel: copied. */
void ferry__onnx_set_affine(struct ferry__onnx *o, const struct ferry__onnx_affine *affine);
/*
 * That the latest node's input 1, a tensor, is a factor and input 2, if there is one, a term of each
 * channel on `axis` of its output. Element i of input 1 belongs to channel i / inner % channels.
 */
void ferry__onnx_set_absorbs(struct ferry__onnx *o, int axis, int64_t channels, int64_t inner);

/* ---- bodies --------------------------------------------------------------------------------- */

/* Until `end`, nodes go into a new graph, which becomes the attribute "body" of the next node. */
struct ferry__onnx_graph *ferry__onnx_body_begin(struct ferry__onnx *o);
int ferry__onnx_body_in(struct ferry__onnx *o, int rank);
void ferry__onnx_body_out(struct ferry__onnx *o, int value, int rank);
void ferry__onnx_body_end(struct ferry__onnx *o);
void ferry__onnx_set_body(struct ferry__onnx *o, struct ferry__onnx_graph *body);

/* ---- the end -------------------------------------------------------------------------------- */

/* Folds affine nodes into the nodes before them (fold.c). */
void ferry__onnx_fold(struct ferry__onnx *o);

/* Names everything and fills the model's message, but for the tensors (model.c). */
void ferry__onnx_finish(struct ferry__onnx *o, const ferry_onnx_options *options);

/* Writes the model and its tensors (write.c). */
int ferry__onnx_write(struct ferry__onnx *o, const char *path);

/* Elements `first` … first + n − 1 of a tensor as floats. FERRY_ENOMEM, FERRY_ELOST (write.c). */
int ferry__onnx_tensor_read(const struct ferry__onnx_tensor *t, int64_t first, int64_t n,
                            float *out);

#endif
