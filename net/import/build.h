/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conversion of an ONNX graph to a NetParameter: the graph's values, the layers that compute
 * them, and the layers' parameters. * The first failure is kept in `err`, with its message. After
 * it all functions do nothing and return zero values that may be passed on, so that an operator's
 * function need not check each step.
 */
#ifndef FERRY_NET_IMPORT_BUILD_H
#define FERRY_NET_IMPORT_BUILD_H

#include "net/import/tensor.h"
#include "net/model/names.h"

/* The functions of x of which GELU is made: x / √2, its erf, erf + 1, and that times x or 0.5. */
enum ferry__import_erf {
    FERRY__IMPORT_ERF_NONE,
    FERRY__IMPORT_OVER_ROOT_2,
    FERRY__IMPORT_ERF,
    FERRY__IMPORT_ERF_PLUS_1,
    FERRY__IMPORT_TWICE_GELU,
    FERRY__IMPORT_PHI,
    FERRY__IMPORT_GELU
};

/* A value of the graph, or an intermediate one between two layers of a node. */
struct ferry__import_value {
    const char *name; /* the name in the graph; NULL for an intermediate */
    const char *blob; /* the blob's name; NULL: no layer computes it yet; "": the current node
                       * computes it, and it is not named yet */
    bool constant;    /* `tensor` has its elements; it has a blob too if a layer reads it */
    struct ferry__import_tensor tensor;
    struct ferry__import_shape shape;
    int uses;                /* the number of nodes that read it, plus one for an output of the
                              * graph */
    int bottoms;             /* the number of layers that read its blob */
    bool output;             /* it is an output of the graph */
    const ferry_proto *user; /* the last node that reads it */
    /* Set for the Sigmoid or HardSigmoid of another value that is read only by a product with that
     * value: the other value. */
    struct ferry__import_value *gate_of;
    bool hard;
    /* Set for a part of GELU that no layer computes: the function, and its argument. */
    enum ferry__import_erf erf;
    struct ferry__import_value *erf_of;
    /* parts and axis, for a concatenation: its inputs and its axis; join: the last concatenation
     * that begins with this value. */
    struct ferry__import_value **parts, *join;
    int n_parts, axis;
};

/* A parameter of a layer. */
struct ferry__import_weights {
    const char *layer;
    int index; /* the index among the layer's parameters */
    struct ferry__import_tensor tensor;
};

/*
 * A layer of the current node. At the end of the node the layer gets its names and is added to the
 * net.
 */
struct ferry__import_layer {
    const char *type, *field;
    ferry_proto *parameters; /* NULL if the layer has no message of its own */
    /* The layer's bottoms, tops and parameters begin where those of the previous layer end; their
     * ends: */
    int end_bottoms, end_tops, end_weights;
};

struct ferry__import {
    struct ferry__import_file *file;
    struct ferry__mem_arena arena; /* has the values and constants */
    ferry_proto *net;
    int64_t opset;
    int err;

    struct ferry__import_value **values; /* the values of the graph, whose indices `names` has */
    int n_values, room_values;
    struct ferry__import_value **made; /* the tops in the order of the layers */
    int n_made, room_made;
    struct ferry__names names, layer_names, blob_names;
    struct ferry__import_weights *weights;
    int n_weights, room_weights;

    /* The current node, and the layers made for it so far. */
    const ferry_proto *node;
    struct ferry__import_layer *layers;
    int n_layers, room_layers;
    struct ferry__import_value **bottoms;
    int n_bottoms, room_bottoms;
    int first_top, first_weights;
};

/* ---- errors --------------------------------------------------------------------------------- */

/* Records a failure; the message begins with the node's name and operator. */
void ferry__import_fail(struct ferry__import *im, int code, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
void ferry__import_no_memory(struct ferry__import *im);

/* ---- the present node ----------------------------------------------------------------------- */

const char *ferry__import_operator(const struct ferry__import *im);
/* The number of inputs, and of outputs, that the node names. */
int ferry__import_input_count(const struct ferry__import *im);
int ferry__import_output_count(const struct ferry__import *im);
/* Whether the node has input i. */
bool ferry__import_has(const struct ferry__import *im, int i);
/* Returns input i, never NULL. Fails if the node does not name it, or if no node computes it. */
struct ferry__import_value *ferry__import_input(struct ferry__import *im, int i);
/* Returns input i as a constant; fails if it is not constant. */
const struct ferry__import_tensor *ferry__import_constant(struct ferry__import *im, int i);
/*
 * Reads up to `room` integers of a constant with at most one axis; returns their number, or −1
 * after a failure.
 */
int ferry__import_constants(struct ferry__import *im, int i, int64_t *out, int room);

/* The attribute of that name; NULL if the node lacks it. */
const ferry_proto *ferry__import_attribute(const struct ferry__import *im, const char *name);
int64_t ferry__import_integer(const struct ferry__import *im, const char *name, int64_t none);
double ferry__import_real(const struct ferry__import *im, const char *name, double none);
const char *ferry__import_string(const struct ferry__import *im, const char *name,
                                 const char *none);
/*
 * Reads up to `room` integers of an attribute; returns their number, 0 without the attribute, −1
 * after a failure.
 */
int ferry__import_integers(struct ferry__import *im, const char *name, int64_t *out, int room);
/*
 * Reads the integers of input i or, if the node lacks it, of the attribute that older operator sets
 * have; results as ferry__import_integers.
 */
int ferry__import_list(struct ferry__import *im, int i, const char *name, int64_t *out, int room);
/* Reads an axis, counted from the end if it is negative; fails outside 0 … rank − 1. */
int ferry__import_axis(struct ferry__import *im, int64_t axis, int rank);

/* ---- values (values.c) ---------------------------------------------------------------------- */

/* The value that functions return after a failure. */
extern struct ferry__import_value ferry__import_no_value;

/* Creates a value without a name; never NULL. */
struct ferry__import_value *ferry__import_value_create(struct ferry__import *im);

/*
 * Makes room for one more element after the `count` elements of an array; `array` points to the
 * array's pointer. False after a failure.
 */
bool ferry__import_grow(struct ferry__import *im, void *array, int count, int *room, size_t size);

/* ---- layers --------------------------------------------------------------------------------- */

/* Begins a layer. `field` is the name of its message, "convolution_param"; NULL: none. */
void ferry__import_layer(struct ferry__import *im, const char *type, const char *field);
/* Set a field of that message: an integer, a real number, or an enum's value by name. */
void ferry__import_put(struct ferry__import *im, const char *field, int64_t value);
void ferry__import_put_real(struct ferry__import *im, const char *field, double value);
void ferry__import_put_word(struct ferry__import *im, const char *field, const char *value);
/* Adds a BlobShape to that message. */
void ferry__import_put_shape(struct ferry__import *im, const char *field,
                             const struct ferry__import_shape *shape);
/* Adds the layer's next bottom. A constant becomes the top of a Parameter layer. */
void ferry__import_bottom(struct ferry__import *im, struct ferry__import_value *x);
/* Adds the layer's next parameter. */
void ferry__import_weights(struct ferry__import *im, const struct ferry__import_tensor *t);
/* Adds the layer's next top, a new value, and returns it. */
struct ferry__import_value *ferry__import_top(struct ferry__import *im,
                                              const struct ferry__import_shape *shape);

/*
 * Adds a layer without parameters, from one bottom to one top of the same shape, and returns the
 * top.
 */
struct ferry__import_value *ferry__import_map(struct ferry__import *im,
                                              struct ferry__import_value *x, const char *type,
                                              const char *field);
/*
 * Adds a Reshape layer, unless x already has the shape. A leading dimension that does not change is
 * written as 0, which copies the bottom's.
 */
struct ferry__import_value *ferry__import_reshape(struct ferry__import *im,
                                                  struct ferry__import_value *x,
                                                  const struct ferry__import_shape *shape);
/* Adds a Permute layer: axis order[i] becomes axis i. */
struct ferry__import_value *ferry__import_permute(struct ferry__import *im,
                                                  struct ferry__import_value *x,
                                                  const int64_t *order);
/* Adds a layer that computes a·x + b. */
struct ferry__import_value *ferry__import_affine(struct ferry__import *im,
                                                 struct ferry__import_value *x, double a, double b);

/* Makes x output k of the node. An output without a name is ignored. */
void ferry__import_give(struct ferry__import *im, int k, struct ferry__import_value *x);
void ferry__import_give_constant(struct ferry__import *im, int k,
                                 const struct ferry__import_tensor *t);

/* ---- the graph ------------------------------------------------------------------------------ */

/* The value of that name, created if it is new; never NULL. */
struct ferry__import_value *ferry__import_value_named(struct ferry__import *im, const char *name);
/* Begins a node; `node` is a NodeProto, or the ValueInfoProto of an input. */
void ferry__import_node_begin(struct ferry__import *im, const ferry_proto *node);
/* Ends a node: names its layers and blobs and adds them to the net. */
void ferry__import_node_end(struct ferry__import *im);
/* Gives the graph's output `name` a blob of that name that no layer reads. */
void ferry__import_output(struct ferry__import *im, const char *name);
/* Adds a Silence layer for the tops that no layer reads and that are not outputs. */
void ferry__import_silence(struct ferry__import *im);

void ferry__import_build_end(struct ferry__import *im);

#endif
