/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments, the table "ferry.graph/1": each node is one of the device's own operations, inner edges
 * are in the workspace, constants in a block of the segment. option.graph selects which segments
 * are claimed; some of its values make claims that ferry has to refuse, or segments that do not
 * compile.
 */
#include "sim.h"

#include "kernels/plan.h"

#include <ferry/graph_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT UINT64_C(256)

/* The location of an edge's contents in a run. */
enum place { IN_CONSTANTS, IN_WORKSPACE, IN_INPUT, IN_OUTPUT };

struct edge {
    enum place place;
    uint64_t offset; /* in bytes; for an input or output its number */
};

struct node {
    void *prepared;
    ferry_op_desc op;
    ferry_op_answer answer;
    uint64_t packed, workspace; /* its offsets in the constants and in the workspace */
    uint32_t in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    uint64_t in_start[FERRY_OP_INPUTS], out_start[FERRY_OP_OUTPUTS]; /* in bytes */
};

struct segment {
    struct node *nodes;
    struct edge *edges;
    uint32_t n_nodes, n_edges;
    void *constants; /* a block of the device */
    uint64_t constant_bytes, workspace_bytes, raw_bytes;
    unsigned char *raw; /* the constants as ferry passed them, for saving */
};

static int no_memory(void)
{
    struct sim_why why = { 0 };

    sim_why_set(&why, FERRY_ENOMEM, "host memory is short");
    return sim_why_tell(&why);
}

static uint64_t bytes_of(const ferry_operand *o)
{
    return kernel_operand_bytes(o);
}

static uint64_t take(uint64_t *at, uint64_t bytes)
{
    uint64_t offset = *at;

    *at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}

static void destroy(void *dev, void *prepared)
{
    struct segment *s = prepared;

    for (uint32_t i = 0; s->nodes && i < s->n_nodes; i++)
        if (s->nodes[i].prepared)
            sim_operations.destroy(dev, s->nodes[i].prepared);
    if (s->constants)
        (void)sim_free(dev, NULL, s->constants);
    free(s->nodes);
    free(s->edges);
    free(s->raw);
    free(s);
}

/* ---- claiming ----------------------------------------------------------------------------- */

static bool can(struct sim_device *dev, const ferry_op_desc *op)
{
    ferry_op_answer answer = { .struct_size = sizeof(answer) };

    return !sim_operations.query(dev, op, &answer) && answer.epilogue >= op->n_epilogue;
}

static int partition(void *device, const ferry_graph *graph, uint32_t *out_segment)
{
    struct sim_device *dev = device;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if (!can(dev, graph->nodes[i]->op))
            continue;
        if (dev->set.graph == SIM_GRAPH_PIECES)
            out_segment[i] = 1 + i / 2;
        else if (dev->set.graph != SIM_GRAPH_HOLES || i % 2 == 0)
            out_segment[i] = 1;
    }
    return 0;
}

/* ---- compiling ---------------------------------------------------------------------------- */

static void place_edges(const ferry_graph *graph, struct segment *s)
{
    uint64_t ins = 0, outs = 0;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const ferry_graph_edge *e = graph->edges[i];

        if (e->flags & FERRY_GRAPH_CONSTANT)
            s->edges[i] =
                (struct edge){ IN_CONSTANTS, take(&s->constant_bytes, bytes_of(&e->operand)) };
        else if (e->flags & FERRY_GRAPH_INPUT)
            s->edges[i] = (struct edge){ IN_INPUT, ins++ };
        else if (e->flags & FERRY_GRAPH_OUTPUT)
            s->edges[i] = (struct edge){ IN_OUTPUT, outs++ };
        else
            s->edges[i] =
                (struct edge){ IN_WORKSPACE, take(&s->workspace_bytes, bytes_of(&e->operand)) };
    }
    s->raw_bytes = s->constant_bytes;
}

static int make_node(struct sim_device *dev, const ferry_graph_node *from, struct segment *s,
                     struct node *to)
{
    to->op = *from->op;
    to->answer.struct_size = sizeof(to->answer);
    for (uint32_t k = 0; k < to->op.n_in; k++) {
        to->in[k] = from->in[k].edge;
        to->in_start[k] = from->in[k].start * sim_element_size(to->op.in[k].dtype);
        if (s->edges[to->in[k]].place != IN_CONSTANTS)
            to->op.constants &= ~(1u << k);
    }
    for (uint32_t k = 0; k < to->op.n_out; k++) {
        to->out[k] = from->out[k].edge;
        to->out_start[k] = from->out[k].start * sim_element_size(to->op.out[k].dtype);
    }
    if (sim_operations.query(dev, &to->op, &to->answer))
        return FERRY_EUNSUPPORTED;
    to->packed = take(&s->constant_bytes, to->answer.packed_bytes);
    to->workspace = take(&s->workspace_bytes, to->answer.workspace_bytes);
    return sim_operations.create(dev, &to->op, &to->prepared);
}

static ferry_cref constant_ref(const struct segment *s, const struct node *n, uint32_t k)
{
    return (ferry_cref){ s->constants, s->edges[n->in[k]].offset + n->in_start[k] };
}

/* Copies the constants to the device and packs them; blocks until that is done. */
static int upload(struct sim_device *dev, struct segment *s)
{
    uint32_t flags = 0;
    int err =
        s->constant_bytes ? sim_alloc(dev, NULL, s->constant_bytes, 0, &s->constants, &flags) : 0;

    if (!err && s->raw_bytes)
        err = sim_memcpy(dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ s->constants, 0 },
                         (ferry_cref){ s->raw, 0 }, s->raw_bytes);
    for (uint32_t i = 0; !err && i < s->n_nodes; i++) {
        const struct node *n = &s->nodes[i];
        ferry_cref in[FERRY_OP_INPUTS] = { { NULL, 0 } };

        for (uint32_t k = 0; k < n->op.n_in; k++)
            if (n->answer.packed_inputs >> k & 1u)
                in[k] = constant_ref(s, n, k);
        if (n->answer.packed_bytes)
            err = sim_operations.prepare(dev, NULL, n->prepared, in,
                                         (ferry_ref){ s->constants, n->packed });
    }
    return err ? err : sim_synchronize(dev);
}

/* Makes a segment. `constants`: one for each edge, or all of them as another segment saved them. */
static int make(struct sim_device *dev, const ferry_graph *graph, const void *const *constants,
                const void *saved, uint64_t saved_bytes, struct segment *s)
{
    int err = 0;

    s->nodes = calloc(graph->n_nodes + 1, sizeof(*s->nodes));
    s->edges = calloc(graph->n_edges + 1, sizeof(*s->edges));
    if (!s->nodes || !s->edges)
        return no_memory();
    s->n_nodes = graph->n_nodes;
    s->n_edges = graph->n_edges;
    place_edges(graph, s);
    s->raw = malloc(s->raw_bytes + 1);
    if (!s->raw)
        return no_memory();
    if (saved && saved_bytes != s->raw_bytes)
        return sim_shared.host->error(FERRY_EFORMAT, "a saved segment of another size");
    if (saved)
        memcpy(s->raw, saved, s->raw_bytes);
    for (uint32_t i = 0; constants && i < graph->n_edges; i++)
        if (constants[i])
            memcpy(s->raw + s->edges[i].offset, constants[i], bytes_of(&graph->edges[i]->operand));
    for (uint32_t i = 0; !err && i < graph->n_nodes; i++)
        err = make_node(dev, graph->nodes[i], s, &s->nodes[i]);
    return err ? err : upload(dev, s);
}

static int finish(struct sim_device *dev, const ferry_graph *graph, const void *const *constants,
                  const void *saved, uint64_t saved_bytes, void **out, uint64_t *out_bytes)
{
    struct segment *s = calloc(1, sizeof(*s));
    int err = s ? make(dev, graph, constants, saved, saved_bytes, s) : no_memory();

    if (err) {
        if (s)
            destroy(dev, s);
        return err;
    }
    *out = s;
    *out_bytes = s->workspace_bytes;
    return 0;
}

static int compile(void *device, const ferry_graph *graph, const ferry_graph_compile_args *args,
                   void **out_prepared, uint64_t *out_workspace_bytes)
{
    struct sim_device *dev = device;
    struct sim_why why = { 0 };
    int err;

    sim_lock();
    if (!sim_alive(dev, &why))
        (void)sim_fault(dev, SIM_CALL_COMPILE, &why);
    sim_unlock();
    if (!why.code && dev->set.graph == SIM_GRAPH_FAIL) {
        *out_prepared = &why; /* undefined after a failure */
        sim_why_set(&why, FERRY_EUNSUPPORTED, "it compiles nothing, as asked");
    }
    if (why.code)
        return sim_why_tell(&why);
    if (dev->set.graph == SIM_GRAPH_NONE)
        return 0;
    err = finish(dev, graph, args->constants, NULL, 0, out_prepared, out_workspace_bytes);
    if (dev->set.graph == SIM_GRAPH_WIDE)
        *out_workspace_bytes = UINT64_MAX;
    return err;
}

/* ---- running ------------------------------------------------------------------------------ */

static ferry_ref ref_of(const struct segment *s, const ferry_graph_run_args *args, uint32_t edge,
                        uint64_t start)
{
    const struct edge *e = &s->edges[edge];
    ferry_ref ref = { s->constants, e->offset };

    if (e->place == IN_WORKSPACE)
        ref = (ferry_ref){ args->workspace.handle, args->workspace.offset + e->offset };
    else if (e->place == IN_INPUT)
        ref = (ferry_ref){ (void *)(uintptr_t)args->in[e->offset].handle,
                           args->in[e->offset].offset };
    else if (e->place == IN_OUTPUT)
        ref = args->out[e->offset];
    ref.offset += start;
    return ref;
}

static int run_node(struct sim_device *dev, void *queue, const struct segment *s,
                    const struct node *n, const ferry_graph_run_args *args)
{
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    ferry_op_run_args a = { .struct_size = sizeof(a), .in = in, .out = out };

    for (uint32_t k = 0; k < n->op.n_in; k++)
        in[k] = ferry_ref_const(ref_of(s, args, n->in[k], n->in_start[k]));
    for (uint32_t k = 0; k < n->op.n_out; k++)
        out[k] = ref_of(s, args, n->out[k], n->out_start[k]);
    if (n->answer.packed_bytes)
        a.packed = (ferry_ref){ s->constants, n->packed };
    if (n->answer.workspace_bytes)
        a.workspace = (ferry_ref){ args->workspace.handle, args->workspace.offset + n->workspace };
    return sim_operations.run(dev, queue, n->prepared, &a);
}

static int run(void *device, void *queue, void *prepared, const ferry_graph_run_args *args)
{
    struct sim_device *dev = device;
    const struct segment *s = prepared;
    struct sim_why why = { 0 };
    int err;

    sim_lock();
    if (!sim_alive(dev, &why))
        (void)sim_fault(dev, SIM_CALL_SEGMENT, &why);
    sim_unlock();
    err = sim_why_tell(&why);
    for (uint32_t i = 0; !err && i < s->n_nodes; i++)
        err = run_node(dev, queue, s, &s->nodes[i], args);
    return err;
}

/* ---- saving ------------------------------------------------------------------------------- */

static int compatibility(void *device, char *out, uint64_t size)
{
    const struct sim_device *dev = device;

    if ((uint64_t)snprintf(out, size, "sim, segments of form 1, graph %u", dev->set.graph) < size)
        return 0;
    return sim_shared.host->error(FERRY_EINVAL, "the compatibility string is longer");
}

static int save(void *dev, void *prepared, ferry_graph_write write, void *arg)
{
    const struct segment *s = prepared;

    (void)dev;
    return write(arg, s->raw, s->raw_bytes);
}

static int load(void *dev, const ferry_graph *graph, const void *data, uint64_t bytes,
                void **out_prepared, uint64_t *out_workspace_bytes)
{
    return finish(dev, graph, NULL, data, bytes, out_prepared, out_workspace_bytes);
}

const ferry_graph_table sim_graphs = {
    .struct_size = sizeof(ferry_graph_table),
    .partition = partition,
    .compile = compile,
    .run = run,
    .destroy = destroy,
    .compatibility = compatibility,
    .save = save,
    .load = load,
};
