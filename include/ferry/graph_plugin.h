/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file graph_plugin.h
 * "ferry.graph/1": the table of a plugin that computes whole segments of a net, which it may return
 * from its `extension` entry. Since ABI 1.2.
 *
 * The rules of plugin.h for codes, host->error, threads and queues apply. ferry offers the fused
 * operations of a net in the phase TEST that is not run backward, for one set of shapes, as a
 * ferry_graph. The plugin claims segments of it. ferry checks each claim: the nodes exist, and the
 * segment is convex, so that no path leaves it and enters it again [rule 67]. A claim that is not
 * convex is refused with a warning, and its nodes run as operations, as do all nodes that are not
 * claimed.
 *
 * ferry compiles a segment before its first run, and again after a constant has been written. It
 * keeps a compiled segment for each of the latest sets of shapes of a net, eight at most. If
 * compile fails, except with FERRY_ENOMEM, FERRY_ELOST or FERRY_EDEVICE, the nodes of the segment
 * run as operations from then on, and the log has the reason.
 *
 * Structures are ferry's and valid during the call. Each begins with its size and grows only at its
 * end; arrays hold pointers, so that both sides may have different sizes.
 */
#ifndef FERRY_GRAPH_PLUGIN_H
#define FERRY_GRAPH_PLUGIN_H

#include <ferry/op_types.h>

FERRY_BEGIN_DECLS

/** The name of this table for the `extension` entry. */
#define FERRY_GRAPH_EXTENSION "ferry.graph/1"

/** Flags of ferry_graph_edge. */
/** Constant contents, such as weights: compile gets them, and they are not an argument of run. */
#define FERRY_GRAPH_CONSTANT 1u
/** Contents that are written before the graph runs. In a segment: an argument of run. */
#define FERRY_GRAPH_INPUT 2u
/**
 * Contents that are read after the graph has run. In a segment: an argument of run, which run
 * overwrites completely.
 */
#define FERRY_GRAPH_OUTPUT 4u

/** No node. */
#define FERRY_GRAPH_NONE UINT32_MAX

/**
 * Contents that nodes exchange: a plain operand. It is written once, as a whole or in disjoint
 * parts by several nodes (the inputs of a concatenation), before any node reads it. Contents that
 * are overwritten in place become another edge. An edge that is neither constant, input nor output
 * needs no memory of ferry's.
 */
typedef struct ferry_graph_edge {
    uint32_t struct_size;
    uint32_t flags;        /* FERRY_GRAPH_… */
    ferry_operand operand; /* plain: row-major and contiguous */
    uint32_t first;        /* the first node that writes it; FERRY_GRAPH_NONE: input, constant */
    uint32_t last;         /* the last node that uses it: dead after that, unless it is an output */
} ferry_graph_edge;

/**
 * The location of an operand of a node: op->in[i] or op->out[i] describes elements of this edge.
 */
typedef struct ferry_graph_use {
    uint32_t edge; /* the index of an edge */
    uint32_t reserved;
    uint64_t start; /* the offset of the operand's first element from the edge's first, in
                     * elements */
} ferry_graph_use;

/** An operation, as ferry would pass it to "ferry.op/1", with all steps of its epilogue. */
typedef struct ferry_graph_node {
    uint32_t struct_size;
    uint32_t reserved;
    const ferry_op_desc *op;
    const char *name; /* the layer's name, for messages */
    ferry_graph_use in[FERRY_OP_INPUTS];
    ferry_graph_use out[FERRY_OP_OUTPUTS];
} ferry_graph_node;

/**
 * Nodes in an order in which they can run, and the edges between them. No node of a graph draws
 * random numbers, takes scalars, or reads its outputs.
 */
typedef struct ferry_graph {
    uint32_t struct_size;
    uint32_t n_nodes, n_edges;
    uint32_t reserved;
    const char *name; /* the net's name */
    const ferry_graph_node *const *nodes;
    const ferry_graph_edge *const *edges;
} ferry_graph;

/** The arguments of compile. */
typedef struct ferry_graph_compile_args {
    uint32_t struct_size;
    uint32_t reserved;
    /** n_edges pointers: to the row-major contents of constant edges, on the host; else NULL. */
    const void *const *constants;
    uint64_t max_workspace; /* in bytes; 0: only the device limits it */
} ferry_graph_compile_args;

/** The arguments of a run. The arrays are borrowed for the call. */
typedef struct ferry_graph_run_args {
    uint32_t struct_size;
    uint32_t reserved;
    const ferry_cref *in; /* one for each edge with FERRY_GRAPH_INPUT, in the order of edges */
    const ferry_ref *out; /* one for each edge with FERRY_GRAPH_OUTPUT, in the order of edges */
    ferry_ref workspace;  /* the number of bytes that compile requested, 64-byte aligned; handle
                           * NULL if 0 */
} ferry_graph_run_args;

/** Takes the next `bytes` bytes of a saved segment; a code other than 0 has to end the saving. */
typedef int (*ferry_graph_write)(void *arg, const void *data, uint64_t bytes);

/**
 * The table: static const, valid for the life of the process. The entries under "mandatory" must be
 * present; those under "saving" may be absent, together.
 */
typedef struct ferry_graph_table {
    uint32_t struct_size;
    uint32_t reserved;

    /* -- mandatory -- */

    /**
     * Claims segments: stores in out_segment[i] the number of node i's segment, from 1; 0, which
     * ferry has stored before the call, leaves the node to ferry. Must not compile or measure. A
     * failure is logged and claims nothing. Callable from any thread.
     */
    int (*partition)(void *dev, const ferry_graph *graph, uint32_t *out_segment);
    /**
     * Compiles a segment that was claimed: a graph of its nodes alone, numbered anew in the same
     * order, with the edges that they use. Copies what it needs later, constants included. Stores
     * the bytes of workspace that each run needs. May block. FERRY_EUNSUPPORTED or FERRY_EINVAL for
     * a segment that turns out to be impossible; the state is then as before. Callable from any
     * thread.
     */
    int (*compile)(void *dev, const ferry_graph *segment, const ferry_graph_compile_args *args,
                   void **out_prepared, uint64_t *out_workspace_bytes);
    /**
     * Submits a compiled segment to the queue. References are aligned as the device's
     * offset_alignment requires. Writes every element of its outputs [rule 68]. ferry runs one
     * compiled segment on one queue at a time. After FERRY_ENOMEM, ferry frees memory and calls it
     * once more. After any failure the outputs are undefined and the inputs unchanged.
     */
    int (*run)(void *dev, void *queue, void *prepared, const ferry_graph_run_args *args);
    /** Destroys a compiled segment. ferry has waited for its runs. Callable from any thread. Cannot
     * fail. */
    void (*destroy)(void *dev, void *prepared);

    /* -- saving; absent: segments are compiled in each process -- */

    /**
     * Stores a string of less than `size` bytes that names everything a saved segment depends on
     * besides the segment: the format, the plugin's and the vendor's versions, the device and the
     * options that matter. ferry writes it before a saved segment and compares it before it reads
     * any byte of one; an unequal string means compiling. FERRY_EINVAL if `size` is too small.
     * Callable from any thread.
     */
    int (*compatibility)(void *dev, char *out, uint64_t size);
    /** Passes the compiled segment to `write`, in one or more parts. May block. Callable from any
     * thread. */
    int (*save)(void *dev, void *prepared, ferry_graph_write write, void *arg);
    /**
     * Like compile, from `bytes` bytes that save has written for an equal segment with equal
     * constants on a device with an equal compatibility string. They may be damaged all the same.
     * After any failure but FERRY_ENOMEM, FERRY_ELOST and FERRY_EDEVICE, ferry compiles.
     */
    int (*load)(void *dev, const ferry_graph *segment, const void *data, uint64_t bytes,
                void **out_prepared, uint64_t *out_workspace_bytes);
} ferry_graph_table;

FERRY_END_DECLS

#endif
