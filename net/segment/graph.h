/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's operations as a plugin of "ferry.graph/1" sees them: nodes, and edges between them. Of a
 * whole program, or of the nodes that were claimed together.
 */
#ifndef FERRY_NET_SEGMENT_GRAPH_H
#define FERRY_NET_SEGMENT_GRAPH_H

#include "net/ir/program.h"

#include <ferry/graph_plugin.h>

/* A table of "ferry.graph/1" that is whole, and its device. */
struct ferry__grapher {
    const ferry_graph_table *table;
    void *ctx;
    ferry_device *device;
    bool saves; /* it has compatibility, save and load */
};

/* An edge, and the contents that it is. */
struct ferry__edge {
    ferry_graph_edge told;
    int value;        /* −1: a constant */
    ferry_blob *blob; /* the value's, or the constant; borrowed from the net */
    int64_t written;  /* elements that nodes have written */
    bool read;
};

struct ferry__node {
    ferry_graph_node told;
    ferry_op_desc op;
    int item;           /* of the program, until the pass is through */
    ferry_layer *layer; /* whose operation it is */
};

struct ferry__graph_of {
    ferry_graph told;
    struct ferry__node *nodes;
    struct ferry__edge *edges;
    const ferry_graph_node **node_at; /* what `told` points to */
    const ferry_graph_edge **edge_at;
};

/*
 * The operations of a program that can be offered, whose layers are on `dev`. *out has no nodes if there
 * are none, or if their values cannot be told as edges. FERRY_ENOMEM. To be ended.
 */
int ferry__graph_of_program(const struct ferry__program *p, const ferry_device *dev,
                            struct ferry__graph_of *out);

/* The nodes of `from` with that segment number, as a graph of their own. FERRY_ENOMEM. */
int ferry__graph_of_segment(const struct ferry__program *p, const struct ferry__graph_of *from,
                            const uint32_t *segment, uint32_t number, struct ferry__graph_of *out);

/* A graph of zeros is accepted. */
void ferry__graph_end(struct ferry__graph_of *g);

#endif
