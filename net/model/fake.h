/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fake quantisation: a net with the option `fake_quantize` rounds the values that a net with
 * integers of 8 bits stores as integers, and computes in F32. doc/design/training.md describes it.
 *
 * Max pooling, Concat, Flatten, Reshape and Dropout keep the levels of their inputs, so that the
 * blobs that they connect form a class with one grid. A layer of type FakeQuantize, in place after
 * the last layer that writes a blob, rounds each blob of a class that a convolution or an inner
 * product reads, unless such a connecting layer writes it. It also rounds a blob that only average
 * pooling reads, if the averages are rounded. The blob of a layer without bottoms, and its contents
 * in another shape, are copied instead, since the program may read and set them.
 */
#ifndef FERRY_NET_MODEL_FAKE_H
#define FERRY_NET_MODEL_FAKE_H

#include "net/model/state.h"

#include <ferry/layer.h>

struct ferry__graph;

/* A class of blobs with one grid. */
struct ferry__fake_class {
    bool padded;       /* a reader pads it, so that its grid has its zero at 0 */
    bool used;         /* a product with known ranges reads it, or class `feeds` is used */
    int feeds;         /* −1, or the class of the averages of its blobs, which alone read it */
    bool has_range;    /* `least` and `most` hold: the union of the known ranges of its blobs */
    float least, most;
};

/* The classes of a net; they live in its arena. */
struct ferry__fake {
    const ferry_layer_type *type; /* FakeQuantize */
    struct ferry__names of; /* the class of a blob's name, for blobs that belong to one */
    struct ferry__fake_class *at;
    int count;
};

/*
 * Adds the layers of `type`, FakeQuantize, with the message `empty` to a graph without splits, and
 * stores the classes in net->fake. FERRY_ENOMEM.
 */
int ferry__fake_begin(ferry_net *net, const ferry_layer_type *type, const ferry_proto *empty,
                      struct ferry__graph *g);

/*
 * Follows a change of ranges or of layers in F32: computes the ranges of the classes, and lets the
 * layers that depend on them emit their operations again. Nothing for a net without the option.
 */
void ferry__fake_update(ferry_net *net);

/* Whether a net with the option has a product that it rounds. */
bool ferry__fake_is_active(const ferry_net *net);

/* Whether layers of a type are products, whose inputs and weights are rounded. */
bool ferry__fake_is_product(const char *type);

void ferry__fake_end(ferry_net *net);

#endif
