/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builder of an ONNX graph: values, and the tensors and nodes that produce them. The first error is
 * kept in `err`; every later call does nothing, so that a sequence of calls needs one check.
 *
 * A value is a number from 1 on; 0 is an omitted optional input, and the result of a call after an
 * error.
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
    int64_t channels; /* 1: the factor and the term apply to all channels */
    double *factors, *terms;
};

/* A constant. Its elements are `bytes`, or those of `blob`, times `factors` if there are any. */
struct ferry__onnx_tensor {
    int value;
    const char *name; /* NULL: derived from the value's number */
    enum ferry__onnx_type type;
    int rank;
    int64_t dims[FERRY_MAX_AXES + 2];
    int64_t count;
    const ferry_blob *blob;
    void *bytes;
    double *factors; /* `channels` factors; element i is multiplied by factor i / inner %
                      * channels */
    int64_t channels, inner;
    bool half;           /* stored as FLOAT16 */
    double *steps;       /* for integers of 8 and 32 bits: element i is a whole multiple of step i /
                          * inner % channels; NULL: of 1 */
    ferry_proto *header; /* the tensor's message without the values */
    uint64_t offset;     /* the offset in the file of external data */
    bool used, outside;  /* used: a node reads it; outside: it is stored in the file of external
                          * data */
};

struct ferry__onnx_node {
    ferry_proto *message;
    const ferry_layer *layer;
    int *in, *out;
    int n_in, n_out;
    struct ferry__onnx_graph *graph;   /* the graph that contains the node */
    struct ferry__onnx_graph *body;    /* the graph in an attribute; NULL: none */
    struct ferry__onnx_affine *affine; /* the affine function that the node computes; NULL:
                                        * another function */
    int absorbs;    /* 1 + the axis at which an affine function can be folded into inputs 1 and
                     * 2; 0: impossible */
    double x_scale; /* of a product with 8 bits: the scale of its input; 0: F32 */
    bool used;
};

/* The model's graph, or the body of a Scan. */
struct ferry__onnx_graph {
    struct ferry__onnx_graph *outer;
    ferry_proto *message;
    int in[16], out[16]; /* for a body */
    int n_in, n_out;
};

struct ferry__onnx_value {
    const char *name;
    int node;   /* the node that produces it; −1: none */
    int tensor; /* the tensor that produces it; −1: none */
    int uses;
    int rank;              /* the type of the inputs of a body; −1: not declared */
    int on_grid;           /* this value, rounded to the integers of its range; 0: none yet */
    const char *blob_name; /* the net's blob, for inputs and outputs of the model */
};

/* The state of an export. */
struct ferry__onnx {
    ferry_net *net;
    int opset;
    bool fold, half, external, dynamic_batch, quantized;
    int64_t batch; /* the size of axis 0 of the first input */
    int err;
    struct ferry__proto_document *document;
    ferry_proto *model;
    struct ferry__onnx_graph *graph; /* the graph that nodes are added to */
    ferry_layer *layer;              /* the layer that is being converted */
    struct ferry__onnx_value *values;
    struct ferry__onnx_tensor *tensors;
    struct ferry__onnx_node *nodes;
    int n_values, n_tensors, n_nodes, room_values, room_tensors, room_nodes;
    int *held; /* for each blob of the net its current value; 0: none yet */
    int *inputs, *outputs;
    int n_inputs, n_outputs;
};

/* Memory that lives until the end of the export; NULL after an error. */
void *ferry__onnx_alloc(struct ferry__onnx *o, size_t size);

/* Frees everything. */
void ferry__onnx_close(struct ferry__onnx *o);

/* ---- values --------------------------------------------------------------------------------- */

/* Creates a value without a producer, for an input of a graph. */
int ferry__onnx_value(struct ferry__onnx *o);

/* The value of the layer's bottom. */
int ferry__onnx_bottom(struct ferry__onnx *o, int index);

/* Assigns a value to the layer's top. */
void ferry__onnx_top(struct ferry__onnx *o, int index, int value);

/* ---- tensors -------------------------------------------------------------------------------- */

/* A parameter of the layer, or another constant blob, as a tensor of that shape. */
int ferry__onnx_param(struct ferry__onnx *o, int index, int rank, const int64_t *dims);
int ferry__onnx_blob(struct ferry__onnx *o, const ferry_blob *blob, int rank, const int64_t *dims);

/* Copies a tensor, so that the copy can be modified. */
int ferry__onnx_tensor_copy(struct ferry__onnx *o, int value);

/*
 * Add constants, which are copied: a list of int64; one int64 as a scalar; floats; one float as a
 * scalar.
 */
int ferry__onnx_ints(struct ferry__onnx *o, int n, const int64_t *numbers);
int ferry__onnx_int(struct ferry__onnx *o, int64_t number);
int ferry__onnx_floats(struct ferry__onnx *o, int rank, const int64_t *dims, const float *numbers);
int ferry__onnx_float(struct ferry__onnx *o, double number);
/* As ferry__onnx_floats, from doubles rounded to floats. */
int ferry__onnx_rounded(struct ferry__onnx *o, int rank, const int64_t *dims,
                        const double *numbers);

/* One integer of a type of 8 bits, as a scalar. */
int ferry__onnx_byte(struct ferry__onnx *o, enum ferry__onnx_type type, float number);

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Adds a node with those inputs; returns its first output. */
int ferry__onnx_op(struct ferry__onnx *o, const char *type, int n, const int *in);

#define ONNX_INTS(...)                                                       \
    (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)), (const int[]) \
    {                                                                        \
        __VA_ARGS__                                                          \
    }
#define ONNX_OP(o, type, ...) ferry__onnx_op(o, type, ONNX_INTS(__VA_ARGS__))

/* Adds a further output to the latest node. */
int ferry__onnx_more(struct ferry__onnx *o);

/* Set attributes of the latest node. */
void ferry__onnx_set_int(struct ferry__onnx *o, const char *name, int64_t value);
void ferry__onnx_set_ints(struct ferry__onnx *o, const char *name, int n, const int64_t *values);
void ferry__onnx_set_float(struct ferry__onnx *o, const char *name, double value);
void ferry__onnx_set_string(struct ferry__onnx *o, const char *name, const char *value);

/* Declares that the latest node computes that affine function of each channel; copied. */
void ferry__onnx_set_affine(struct ferry__onnx *o, const struct ferry__onnx_affine *affine);
/*
 * Declares that the latest node's input 1, a tensor, multiplies each channel on `axis` of its
 * output, and that input 2, if present, adds to it, so that an affine function can be folded into
 * them. Element i of input 1 belongs to channel i / inner % channels.
 */
void ferry__onnx_set_absorbs(struct ferry__onnx *o, int axis, int64_t channels, int64_t inner);

/* ---- bodies --------------------------------------------------------------------------------- */

/*
 * Until `end`, nodes are added to a new graph, which becomes the attribute "body" of the next node.
 */
struct ferry__onnx_graph *ferry__onnx_body_begin(struct ferry__onnx *o);
int ferry__onnx_body_in(struct ferry__onnx *o, int rank);
void ferry__onnx_body_out(struct ferry__onnx *o, int value, int rank);
void ferry__onnx_body_end(struct ferry__onnx *o);
void ferry__onnx_set_body(struct ferry__onnx *o, struct ferry__onnx_graph *body);

/* ---- the end -------------------------------------------------------------------------------- */

/* Folds affine nodes into the nodes before them (fold.c). */
void ferry__onnx_fold(struct ferry__onnx *o);

/*
 * `value`, rounded to the integers that stand for the range of the layer's bottom, and their scale;
 * `value` and 0 if its range is not known or the layer stays in F32 (quantize.c).
 */
int ferry__onnx_on_grid(struct ferry__onnx *o, int value, int bottom, double *out_scale);
/* Declares that the latest node, which absorbs, is a product with 8 bits if the scale is not 0. */
void ferry__onnx_set_quantized(struct ferry__onnx *o, double x_scale);
/* Gives these nodes integer weights, after folding (quantize.c). */
void ferry__onnx_quantize(struct ferry__onnx *o);

/* Names values and nodes and fills the model's message, except for the tensors (model.c). */
void ferry__onnx_finish(struct ferry__onnx *o, const ferry_onnx_options *options);

/* Writes the model and its tensors (write.c). */
int ferry__onnx_write(struct ferry__onnx *o, const char *path);

/*
 * Reads elements first … first + n − 1 of a tensor as floats. FERRY_ENOMEM, FERRY_ELOST (write.c).
 */
int ferry__onnx_tensor_read(const struct ferry__onnx_tensor *t, int64_t first, int64_t n,
                            float *out);

#endif
