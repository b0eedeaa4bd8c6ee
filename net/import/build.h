/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The NetParameter that an ONNX graph becomes: values, the layers that make them, and the
 * parameters of the layers.
 *
 * The first failure is kept in `err`, with its message; all functions do nothing after it and
 * return zero values that may be passed on, so that an operator's function need not check each
 * step.
 */
#ifndef FERRY_NET_IMPORT_BUILD_H
#define FERRY_NET_IMPORT_BUILD_H

#include "net/import/tensor.h"
#include "net/model/names.h"

/* A value of the graph, or one between the layers of a node. */
struct ferry__import_value {
    const char *name; /* in the graph; NULL: between layers */
    const char *blob; /* NULL: not made; "": of the present node, not named yet */
    bool constant;    /* its elements are `tensor`; a blob as well if a layer takes it */
    struct ferry__import_tensor tensor;
    struct ferry__import_shape shape;
    int uses;                /* nodes that take it, and outputs of the graph */
    int bottoms;             /* layers that take its blob */
    bool output;             /* of the graph */
    const ferry_proto *user; /* the last node that takes it */
    /* Sigmoid or HardSigmoid of another value, which only a product with that value takes. */
    struct ferry__import_value *gate_of;
    bool hard;
    /* Of a concatenation: its inputs and its axis; and the last one that begins with this value. */
    struct ferry__import_value **parts, *join;
    int n_parts, axis;
};

/* A parameter of a layer. */
struct ferry__import_weights {
    const char *layer;
    int index; /* among the layer's parameters */
    struct ferry__import_tensor tensor;
};

/* A layer of the present node. Names are given, and it is added to the net, when the node ends. */
struct ferry__import_layer {
    const char *type, *field;
    ferry_proto *parameters; /* NULL without a field */
    /* Its bottoms, tops and parameters are those of the arrays behind the layer before, up to: */
    int end_bottoms, end_tops, end_weights;
};

struct ferry__import {
    struct ferry__import_file *file;
    struct ferry__mem_arena arena; /* of values and constants */
    ferry_proto *net;
    int64_t opset;
    int err;

    struct ferry__import_value **values; /* of the graph's names, by `names` */
    int n_values, room_values;
    struct ferry__import_value **made; /* tops, in the order of the layers */
    int n_made, room_made;
    struct ferry__names names, layer_names, blob_names;
    struct ferry__import_weights *weights;
    int n_weights, room_weights;

    /* The present node, and what it has become so far. */
    const ferry_proto *node;
    struct ferry__import_layer *layers;
    int n_layers, room_layers;
    struct ferry__import_value **bottoms;
    int n_bottoms, room_bottoms;
    int first_top, first_weights;
};

/* ---- errors --------------------------------------------------------------------------------- */

/* Fails, with the node's name and operator before the words. */
void ferry__import_fail(struct ferry__import *im, int code, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
void ferry__import_no_memory(struct ferry__import *im);

/* ---- the present node ----------------------------------------------------------------------- */

const char *ferry__import_operator(const struct ferry__import *im);
/* How many inputs and outputs it names. */
int ferry__import_input_count(const struct ferry__import *im);
int ferry__import_output_count(const struct ferry__import *im);
/* Whether input i is given. */
bool ferry__import_has(const struct ferry__import *im, int i);
/* Input i. Fails if it is not given, and for a value without a maker; the result is never NULL. */
struct ferry__import_value *ferry__import_input(struct ferry__import *im, int i);
/* Input i as a constant. Fails if it is not one. */
const struct ferry__import_tensor *ferry__import_constant(struct ferry__import *im, int i);
/*
 * Up to `room` integers of a constant of one axis, or of none; their number, or −1 after failure.
 */
int ferry__import_constants(struct ferry__import *im, int i, int64_t *out, int room);

/* The attribute of that name; NULL. */
const ferry_proto *ferry__import_attribute(const struct ferry__import *im, const char *name);
int64_t ferry__import_integer(const struct ferry__import *im, const char *name, int64_t none);
double ferry__import_real(const struct ferry__import *im, const char *name, double none);
const char *ferry__import_string(const struct ferry__import *im, const char *name,
                                 const char *none);
/* Up to `room` integers; their number, 0 without the attribute, −1 after failure. */
int ferry__import_integers(struct ferry__import *im, const char *name, int64_t *out, int room);
/*
 * The integers of input i or, if it is not given, those of the attribute, as older operator sets
 * have them; likewise.
 */
int ferry__import_list(struct ferry__import *im, int i, const char *name, int64_t *out, int room);
/* An axis counted from the end if negative. Fails outside 0 … rank − 1. */
int ferry__import_axis(struct ferry__import *im, int64_t axis, int rank);

/* ---- values (values.c) ---------------------------------------------------------------------- */

/* The result of functions after a failure. */
extern struct ferry__import_value ferry__import_no_value;

/* A new value, of no name; never NULL. */
struct ferry__import_value *ferry__import_value_create(struct ferry__import *im);

/*
 * Makes room for one more element behind `count` in an array, to whose pointer `array` points.
 * False after a failure.
 */
bool ferry__import_grow(struct ferry__import *im, void *array, int count, int *room, size_t size);

/* ---- layers --------------------------------------------------------------------------------- */

/* Begins a layer. `field` is its message, "convolution_param"; NULL: none. */
void ferry__import_layer(struct ferry__import *im, const char *type, const char *field);
/* A field of that message: an integer, a real number, an enum's value by name. */
void ferry__import_put(struct ferry__import *im, const char *field, int64_t value);
void ferry__import_put_real(struct ferry__import *im, const char *field, double value);
void ferry__import_put_word(struct ferry__import *im, const char *field, const char *value);
/* A BlobShape. */
void ferry__import_put_shape(struct ferry__import *im, const char *field,
                             const struct ferry__import_shape *shape);
/* The layer's next bottom. A constant becomes the top of a Parameter layer. */
void ferry__import_bottom(struct ferry__import *im, struct ferry__import_value *x);
/* The layer's next parameter. */
void ferry__import_weights(struct ferry__import *im, const struct ferry__import_tensor *t);
/* The layer's next top, a new value. */
struct ferry__import_value *ferry__import_top(struct ferry__import *im,
                                              const struct ferry__import_shape *shape);

/* A layer without parameters, from one bottom to one top of the same shape. */
struct ferry__import_value *ferry__import_map(struct ferry__import *im,
                                              struct ferry__import_value *x, const char *type,
                                              const char *field);
/* Reshape, unless x has the shape. A leading dimension that stays is written as 0, "as it is". */
struct ferry__import_value *ferry__import_reshape(struct ferry__import *im,
                                                  struct ferry__import_value *x,
                                                  const struct ferry__import_shape *shape);
/* Permute: axis order[i] becomes axis i. */
struct ferry__import_value *ferry__import_permute(struct ferry__import *im,
                                                  struct ferry__import_value *x,
                                                  const int64_t *order);
/* a·x + b. */
struct ferry__import_value *ferry__import_affine(struct ferry__import *im,
                                                 struct ferry__import_value *x, double a, double b);

/* Output k of the node is x. An output that is not named is ignored. */
void ferry__import_give(struct ferry__import *im, int k, struct ferry__import_value *x);
void ferry__import_give_constant(struct ferry__import *im, int k,
                                 const struct ferry__import_tensor *t);

/* ---- the graph ------------------------------------------------------------------------------ */

/* The value of that name, created if it is new; never NULL. */
struct ferry__import_value *ferry__import_value_named(struct ferry__import *im, const char *name);
/* `node` is a NodeProto, or the ValueInfoProto of an input. */
void ferry__import_node_begin(struct ferry__import *im, const ferry_proto *node);
/* Names the node's layers and blobs and adds them to the net. */
void ferry__import_node_end(struct ferry__import *im);
/* Makes `name`, an output of the graph, a blob of that name which no layer takes. */
void ferry__import_output(struct ferry__import *im, const char *name);
/* Silence for the tops that no layer takes and that are not outputs. */
void ferry__import_silence(struct ferry__import *im);

void ferry__import_build_end(struct ferry__import *im);

#endif
