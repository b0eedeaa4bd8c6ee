/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's operations in the form of "ferry.graph/1": nodes, and edges between them; for a whole
 * program, or for the nodes of one claim.
 */
#ifndef FERRY_NET_SEGMENT_GRAPH_H
#define FERRY_NET_SEGMENT_GRAPH_H

#include "net/ir/program.h"

#include <ferry/graph_plugin.h>

/* A complete table of "ferry.graph/1", and its device. */
struct ferry__grapher {
    const ferry_graph_table *table;
    void *ctx;
    ferry_device *device;
    bool saves; /* it has the entries compatibility, save and load */
};

/* An edge, and its contents. */
struct ferry__edge {
    ferry_graph_edge told;
    int value;        /* the value's index; −1: a constant */
    ferry_blob *blob; /* the blob of the value or of the constant; borrowed from the net */
    int64_t written;  /* the number of elements that nodes have written */
    bool read;
};

struct ferry__node {
    ferry_graph_node told;
    ferry_op_desc op;
    int item;           /* the index of the item of the program, valid during the pass */
    ferry_layer *layer; /* the layer of the operation */
};

struct ferry__graph_of {
    ferry_graph told;
    struct ferry__node *nodes;
    struct ferry__edge *edges;
    const ferry_graph_node **node_at; /* the array that `told` points to */
    const ferry_graph_edge **edge_at;
};

/*
 * The operations of a program that are eligible and whose layers are on `dev`. *out has no nodes if
 * there are none, or if edges cannot represent their values. FERRY_ENOMEM. End the graph
 * afterwards.
 */
int ferry__graph_of_program(const struct ferry__program *p, const ferry_device *dev,
                            struct ferry__graph_of *out);

/* The nodes of `from` with that segment number, as a graph. FERRY_ENOMEM. */
int ferry__graph_of_segment(const struct ferry__program *p, const struct ferry__graph_of *from,
                            const uint32_t *segment, uint32_t number, struct ferry__graph_of *out);

/* Frees a graph. A zeroed structure is accepted. */
void ferry__graph_end(struct ferry__graph_of *g);

#endif
