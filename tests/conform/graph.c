/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "arith.h"

#include <ferry/graph_plugin.h>
#include <ferry/op.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * graph: the table "ferry.graph/1". A chain of a convolution, a rectifier and a pooling is claimed,
 * compiled, run, saved and loaded. Each node is also compiled alone.
 */

enum { NODES = 3, EDGES = 6, GUARD = 256 };

static const ferry_graph_table *table;

/* A chain: x, weights and bias, what the convolution, the rectifier and the pooling write. */
struct chain {
    ferry_op_desc op[NODES];
    ferry_graph_node node[NODES];
    ferry_graph_edge edge[EDGES];
    const ferry_graph_node *nodes[NODES];
    const ferry_graph_edge *edges[EDGES];
    float *contents[EDGES]; /* by the reference */
    ferry_graph graph;
};

/* ---- the chain ------------------------------------------------------------------------------ */

static const char *const names[NODES] = { "conv1", "relu1", "pool1" };

static void make_operations(struct chain *c)
{
    ferry_op_desc *conv = &c->op[0], *relu = &c->op[1], *pool = &c->op[2];

    *conv = op_begin(FERRY_OP_CONVOLUTION, 3, 1);
    conv->params.window = (ferry_op_window){ .axes = 2,
                                             .group = 1,
                                             .kernel = { 3, 3, 1 },
                                             .stride = { 1, 1, 1 },
                                             .dilation = { 1, 1, 1 },
                                             .pad = { 1, 1, 0 },
                                             .pad_end = { 1, 1, 0 } };
    conv->constants = 6;
    OP_SHAPE(&conv->in[0], FERRY_F32, 2, 3, 10, 8);
    OP_SHAPE(&conv->in[1], FERRY_F32, 5, 3, 3, 3);
    OP_SHAPE(&conv->in[2], FERRY_F32, 5);
    OP_SHAPE(&conv->out[0], FERRY_F32, 2, 5, 10, 8);
    *relu = op_begin(FERRY_OP_UNARY, 1, 1);
    relu->params.unary.a = 0.25;
    relu->in[0] = relu->out[0] = conv->out[0];
    *pool = op_begin(FERRY_OP_POOL, 1, 1);
    pool->params.window = conv->params.window;
    pool->params.window.kernel[0] = pool->params.window.kernel[1] = 2;
    pool->params.window.stride[0] = pool->params.window.stride[1] = 2;
    memset(pool->params.window.pad, 0, sizeof(pool->params.window.pad));
    memset(pool->params.window.pad_end, 0, sizeof(pool->params.window.pad_end));
    pool->in[0] = conv->out[0];
    OP_SHAPE(&pool->out[0], FERRY_F32, 2, 5, 5, 4);
}

static void set_edge(struct chain *c, uint32_t i, const ferry_operand *o, uint32_t first,
                     uint32_t last)
{
    bool constant = i == 1 || i == 2;

    c->edge[i] = (ferry_graph_edge){ .struct_size = sizeof(ferry_graph_edge),
                                     .flags = constant    ? FERRY_GRAPH_CONSTANT
                                              : i == 0    ? FERRY_GRAPH_INPUT
                                              : i == EDGES - 1 ? FERRY_GRAPH_OUTPUT
                                                          : 0,
                                     .operand = *o,
                                     .first = first,
                                     .last = last };
    c->contents[i] = kit_host((size_t)op_count(o) * sizeof(float));
    arith_random(FERRY_F32, c->contents[i], op_count(o), 1, 3 + i);
}

/* Writes the reference's result of node i into the contents of edge `out`. */
static void expect(struct chain *c, uint32_t i, uint32_t out)
{
    const ferry_op_desc *op = &c->op[i];
    int64_t at[FERRY_OP_AXES] = { 0 }, k = 0;
    struct op_view in[FERRY_OP_INPUTS], y = { op->out[0], (unsigned char *)c->contents[out] };
    const struct op_scene s = { op, op->n_in, in, &y, NULL, 0, 0 };
    struct op_number want;

    for (uint32_t n = 0; n < op->n_in; n++)
        in[n] = (struct op_view){ op->in[n], (unsigned char *)c->contents[c->node[i].in[n].edge] };
    do {
        if (!op_expect(&s, 0, at, &want))
            kit_fail("the check itself does not know the kind");
        c->contents[out][k++] = (float)want.value;
    } while (op_next(&op->out[0], at));
}

static void make_chain(struct chain *c)
{
    static const uint32_t reads[NODES] = { 0, 3, 4 };

    memset(c, 0, sizeof(*c));
    make_operations(c);
    set_edge(c, 0, &c->op[0].in[0], FERRY_GRAPH_NONE, 0);
    set_edge(c, 1, &c->op[0].in[1], FERRY_GRAPH_NONE, 0);
    set_edge(c, 2, &c->op[0].in[2], FERRY_GRAPH_NONE, 0);
    for (uint32_t i = 0; i < NODES; i++) {
        set_edge(c, 3 + i, &c->op[i].out[0], i, i < NODES - 1 ? i + 1 : i);
        c->node[i] = (ferry_graph_node){ .struct_size = sizeof(ferry_graph_node),
                                         .op = &c->op[i],
                                         .name = names[i],
                                         .in = { { .edge = reads[i] } },
                                         .out = { { .edge = 3 + i } } };
        c->nodes[i] = &c->node[i];
    }
    c->node[0].in[1].edge = 1;
    c->node[0].in[2].edge = 2;
    for (uint32_t i = 0; i < EDGES; i++)
        c->edges[i] = &c->edge[i];
    for (uint32_t i = 0; i < NODES; i++)
        expect(c, i, 3 + i);
    c->graph = (ferry_graph){ .struct_size = sizeof(ferry_graph),
                              .n_nodes = NODES,
                              .n_edges = EDGES,
                              .name = "chain",
                              .nodes = c->nodes,
                              .edges = c->edges };
}

/* ---- claims --------------------------------------------------------------------------------- */

/* Whether the plugin claims the whole chain as one segment. */
static bool claims(const struct chain *c)
{
    uint32_t segment[NODES + 1] = { 0, 0, 0, 0xeeeeeeee };

    kit_case("partition of a convolution, a rectifier and a pooling");
    kit_ok(table->partition(kit.dev, &c->graph, segment), "partition");
    if (segment[NODES] != 0xeeeeeeee)
        kit_fail("it wrote behind the segment of the last node");
    if (segment[0] && segment[0] == segment[2] && segment[1] != segment[0])
        kit_fail("the claim is not convex: segment %" PRIu32 " is left and entered again",
                 segment[0]);
    return segment[0] && segment[0] == segment[1] && segment[1] == segment[2];
}

static void unknown_kinds(struct chain *c)
{
    uint32_t segment[NODES] = { 0 };

    kit_case("partition of a graph with an unknown kind");
    c->op[1].kind = 60;
    if (table->partition(kit.dev, &c->graph, segment) == 0 && segment[1])
        kit_fail("it claims the node of kind 60");
    c->op[1].kind = FERRY_OP_UNARY;
}

/* ---- compiling and running ------------------------------------------------------------------ */

static int compile(const struct chain *c, void **out_prepared, uint64_t *out_bytes)
{
    const void *constants[EDGES] = { NULL, c->contents[1], c->contents[2] };
    const ferry_graph_compile_args args = { .struct_size = sizeof(args), .constants = constants };

    return table->compile(kit.dev, &c->graph, &args, out_prepared, out_bytes);
}

/*
 * Runs the segment, checks the bytes around the output, and returns the output, which the caller
 * frees.
 */
static float *run(const struct chain *c, void *prepared, uint64_t workspace_bytes)
{
    uint64_t in_bytes = (uint64_t)op_count(&c->edge[0].operand) * sizeof(float);
    uint64_t out_bytes = (uint64_t)op_count(&c->edge[EDGES - 1].operand) * sizeof(float);
    struct mirror x, y, workspace;
    ferry_cref in[1];
    ferry_ref out[1];
    ferry_graph_run_args args = { .struct_size = sizeof(args), .in = in, .out = out };
    float *result = kit_host(out_bytes);

    mirror_make(&x, in_bytes, 1);
    memcpy(x.want, c->contents[0], in_bytes);
    mirror_upload(&x);
    mirror_create(&y, out_bytes + GUARD, 2);
    mirror_create(&workspace, workspace_bytes + GUARD, 3);
    in[0] = mirror_cref(&x, 0);
    out[0] = mirror_ref(&y, 0);
    if (workspace_bytes)
        args.workspace = mirror_ref(&workspace, 0);
    kit_ok(table->run(kit.dev, NULL, prepared, &args), "run");
    kit_wait(NULL);
    mirror_check(&x);
    mirror_download(&y);
    if (memcmp(y.got + out_bytes, y.want + out_bytes, GUARD) != 0)
        kit_fail("run wrote behind its output");
    mirror_download(&workspace);
    if (memcmp(workspace.got + workspace_bytes, workspace.want + workspace_bytes, GUARD) != 0)
        kit_fail("run wrote after its workspace of %" PRIu64 " bytes", workspace_bytes);
    memcpy(result, y.got, out_bytes);
    mirror_destroy(&x);
    mirror_destroy(&y);
    mirror_destroy(&workspace);
    return result;
}

static void check_output(const struct chain *c, const float *got)
{
    int64_t n = op_count(&c->edge[EDGES - 1].operand);

    for (int64_t k = 0; k < n; k++) {
        float want = c->contents[EDGES - 1][k];

        if (!arith_near(got[k], want, 1e-5L * (4 + fabsl((long double)want))))
            kit_fail("element %" PRId64 " of %" PRId64 " is %.9g, should be %.9g", k, n,
                     (double)got[k], (double)want);
    }
}

static void run_twice(const struct chain *c, void *prepared, uint64_t bytes)
{
    float *first = run(c, prepared, bytes), *second = run(c, prepared, bytes);

    check_output(c, first);
    if (memcmp(first, second, (size_t)op_count(&c->edge[EDGES - 1].operand) * sizeof(float)) != 0)
        kit_fail("the second run gave other bits");
    free(first);
    free(second);
}

static const struct chain *repeated;

static void compile_and_destroy(void)
{
    void *prepared = NULL;
    uint64_t bytes = 0;

    kit_ok(compile(repeated, &prepared, &bytes), "compile");
    table->destroy(kit.dev, prepared);
}

/* ---- saving --------------------------------------------------------------------------------- */

struct saved {
    unsigned char *data;
    uint64_t bytes, most;
};

static int keep(void *arg, const void *data, uint64_t bytes)
{
    struct saved *s = arg;

    if (s->bytes + bytes > s->most)
        return FERRY_EINVAL;
    memcpy(s->data + s->bytes, data, bytes);
    s->bytes += bytes;
    return 0;
}

static void load(const struct chain *c, const struct saved *s, uint64_t bytes, bool damaged)
{
    void *prepared = NULL;
    uint64_t workspace = 0;
    int code = table->load(kit.dev, &c->graph, s->data, bytes, &prepared, &workspace);

    if (!damaged) {
        kit_ok(code, "load");
        run_twice(c, prepared, workspace);
    }
    if (code == 0)
        table->destroy(kit.dev, prepared);
    else
        kit_refused(code, "load");
}

static void save_and_load(const struct chain *c, void *prepared)
{
    enum { MOST = 16 << 20 };
    struct saved s = { kit_host(MOST), 0, MOST };
    char text[300];

    kit_case("compatibility");
    memset(text, 0x7e, sizeof(text));
    kit_ok(table->compatibility(kit.dev, text, 256), "compatibility");
    if (!memchr(text, '\0', 256) || !text[0] || text[256] != 0x7e)
        kit_fail("it is not a string of 1 to 255 bytes");
    kit_refused(table->compatibility(kit.dev, text, 1), "compatibility, into one byte,");
    kit_case("save to a file that is full");
    s.most = 0;
    if (table->save(kit.dev, prepared, keep, &s) == 0)
        kit_fail("save returned 0 although a write failed");
    kit_case("save and load");
    s.most = MOST;
    kit_ok(table->save(kit.dev, prepared, keep, &s), "save");
    load(c, &s, s.bytes, false);
    for (uint64_t part = 0; part < 8; part++) {
        kit_case("load of %" PRIu64 " of %" PRIu64 " bytes", s.bytes * part / 8, s.bytes);
        load(c, &s, s.bytes * part / 8, true);
    }
    kit_case("load of damaged bytes");
    for (uint64_t at = 0; at < s.bytes && at < 64; at++) {
        s.data[at] ^= 0xff;
        load(c, &s, s.bytes, true);
        s.data[at] ^= 0xff;
    }
    free(s.data);
}

/* ---- the group ------------------------------------------------------------------------------ */

static void take_table(void)
{
    const void *found = NULL;
    int code;

    kit_case("extension");
    if (!kit.ops.extension)
        kit_not_offered("no extension entry; ferry computes operations one by one");
    code = kit.ops.extension(kit.dev, FERRY_GRAPH_EXTENSION, &found);
    if (code == FERRY_EUNSUPPORTED)
        kit_not_offered("no extension \"" FERRY_GRAPH_EXTENSION "\"");
    kit_ok(code, "extension(\"" FERRY_GRAPH_EXTENSION "\")");
    table = found;
    if (!table || table->struct_size < offsetof(ferry_graph_table, compatibility))
        kit_fail("the table, or its struct_size, lacks mandatory entries");
    if (!table->partition || !table->compile || !table->run || !table->destroy)
        kit_fail("a mandatory entry of the table is NULL");
}

void group_graph(void)
{
    ferry_plugin_counters before, after;
    void *prepared = NULL;
    uint64_t bytes = 0;
    struct chain c;
    bool counts, saves;
    int code;

    kit_open();
    take_table();
    make_chain(&c);
    unknown_kinds(&c);
    if (!claims(&c))
        kit_not_offered("it does not claim a convolution, a rectifier and a pooling as one");
    counts = kit_counters(&before);
    kit_case("a segment of a convolution, a rectifier and a pooling");
    code = compile(&c, &prepared, &bytes);
    if (code == FERRY_EUNSUPPORTED)
        kit_not_offered("it compiles no segment");
    kit_ok(code, "compile");
    run_twice(&c, prepared, bytes);
    saves = table->struct_size >= sizeof(*table) && table->compatibility;
    if (saves)
        save_and_load(&c, prepared);
    table->destroy(kit.dev, prepared);
    repeated = &c;
    kit_does_not_grow("compile and destroy", compile_and_destroy, 20);
    if (counts && kit_counters(&after) && after.live_blocks != before.live_blocks)
        kit_fail("live_blocks was %" PRIu64 ", is %" PRIu64, before.live_blocks,
                 after.live_blocks);
    kit_remark("a chain of %d nodes, compiled%s", NODES, saves ? ", saved and loaded" : "");
}
