/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/segment/compiled.h"
#include "net/segment/store.h"

#include "op/plan.h"
#include "op/workspace.h"

#include <ferry/status.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return ferry_error_set(FERRY_ENOMEM, "net: no memory for a segment");
}

/* ---- the plugin's table ---------------------------------------------------------------------- */

static bool has_all(const ferry_graph_table *t, bool *out_saves)
{
    bool whole = t->struct_size >= offsetof(ferry_graph_table, compatibility) && t->partition &&
                 t->compile && t->run && t->destroy;
    bool longer = t->struct_size >= offsetof(ferry_graph_table, load) + sizeof t->load;

    *out_saves = whole && longer && t->compatibility && t->save && t->load;
    if (whole && longer && !*out_saves)
        whole = !t->compatibility && !t->save && !t->load;
    return whole;
}

int ferry__grapher_of(ferry_device *dev, struct ferry__grapher *out)
{
    const void *table;
    int err = ferry_device_extension(dev, FERRY_GRAPH_EXTENSION, &table, &out->ctx);

    if (err)
        return err;
    out->table = table;
    out->device = dev;
    if (!has_all(table, &out->saves))
        return ferry_error_set(FERRY_EPLUGIN, "%s: its table \"%s\" lacks an entry",
                               ferry_device_name(dev), FERRY_GRAPH_EXTENSION);
    return 0;
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* Finds the values that the segment reads and writes, and allocates the arguments of a run. */
static int find_borders(struct ferry__claim *c)
{
    uint32_t n = c->graph.told.n_edges, i;

    c->values = calloc(n + 1, sizeof *c->values);
    c->in = calloc(n + 1, sizeof *c->in);
    c->out = calloc(n + 1, sizeof *c->out);
    c->uses = calloc(n + 1, sizeof *c->uses);
    if (!c->values || !c->in || !c->out || !c->uses)
        return no_memory();
    for (i = 0; i < n; i++)
        if (c->graph.edges[i].told.flags & FERRY_GRAPH_INPUT)
            c->values[c->n_reads++] = c->graph.edges[i].value;
    for (i = 0; i < n; i++)
        if (c->graph.edges[i].told.flags & FERRY_GRAPH_OUTPUT)
            c->values[c->n_reads + c->n_writes++] = c->graph.edges[i].value;
    return 0;
}

int ferry__claim_make(const struct ferry__program *p, const struct ferry__grapher *by,
                      const struct ferry__graph_of *from, const uint32_t *segment, uint32_t number,
                      struct ferry__claim **out)
{
    struct ferry__claim *c = calloc(1, sizeof *c);
    int err;

    if (!c)
        return no_memory();
    c->by = *by;
    ferry__workspace_join();
    err = ferry_memory_create(by->device, 0, &c->keeper);
    if (!err)
        err = ferry__graph_of_segment(p, from, segment, number, &c->graph);
    if (!err)
        err = find_borders(c);
    if (err)
        ferry__claim_end(c);
    else
        *out = c;
    return err;
}

static void destroy_compiled(struct ferry__claim *c)
{
    if (!c->prepared)
        return;
    ferry_device_synchronize(c->by.device);
    c->by.table->destroy(c->by.ctx, c->prepared);
    c->prepared = NULL;
}

void ferry__claim_end(struct ferry__claim *c)
{
    if (!c)
        return;
    destroy_compiled(c);
    ferry__graph_end(&c->graph);
    free(c->values);
    free(c->in);
    free(c->out);
    free(c->uses);
    ferry__workspace_leave();
    ferry_memory_release(c->keeper);
    free(c);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static uint64_t version_of(const struct ferry__claim *c)
{
    uint64_t version = 1;
    uint32_t i;

    for (i = 0; i < c->graph.told.n_edges; i++)
        if (c->graph.edges[i].told.flags & FERRY_GRAPH_CONSTANT)
            version = ferry__contents(version, c->graph.edges[i].blob);
    return version;
}

/* Copies the constants to the host, one for each edge; the caller frees the array. */
static int find_constants(const struct ferry__claim *c, const void ***out)
{
    const void **constants = calloc(c->graph.told.n_edges + 1, sizeof *constants);
    uint32_t i;

    if (!constants)
        return no_memory();
    for (i = 0; i < c->graph.told.n_edges; i++) {
        if (!(c->graph.edges[i].told.flags & FERRY_GRAPH_CONSTANT))
            continue;
        constants[i] = ferry_memory_host_data(ferry_blob_data_memory(c->graph.edges[i].blob));
        if (!constants[i]) {
            free(constants);
            return ferry_last_error_code();
        }
    }
    *out = constants;
    return 0;
}

struct compiling {
    struct ferry__claim *claim;
    const void *const *constants;
};

static int call_compile(void *ctx, void *arg)
{
    const struct compiling *a = arg;
    struct ferry__claim *c = a->claim;
    ferry_graph_compile_args args = { .struct_size = sizeof args, .constants = a->constants };

    args.max_workspace = ferry_device_get_properties(c->by.device)->max_binding;
    return c->by.table->compile(ctx, &c->graph.told, &args, &c->prepared, &c->workspace_bytes);
}

/* Whether the error only means that this segment cannot be compiled. */
static bool is_refusal(int err)
{
    return err && err != FERRY_ENOMEM && err != FERRY_ELOST && err != FERRY_EDEVICE &&
           err != FERRY_EFORKED;
}

/* Compiles the segment; after a failure nothing of the plugin's answer is kept. */
static int compile_anew(struct ferry__claim *c, const void *const *constants)
{
    struct compiling a = { c, constants };
    uint64_t binding = ferry_device_get_properties(c->by.device)->max_binding;
    uint64_t most = binding ? binding : INT64_MAX;
    int err = ferry_device_call(c->by.device, "compile of a segment", call_compile, &a);

    if (err)
        c->prepared = NULL;
    else if (!c->prepared)
        err = ferry_error_set(FERRY_EPLUGIN, "%s: compile returned FERRY_OK and no segment",
                              ferry_device_name(c->by.device));
    else if (c->workspace_bytes > most)
        err = ferry_error_set(FERRY_EPLUGIN,
                              "%s: compile wants a workspace of %llu bytes, of at most %llu",
                              ferry_device_name(c->by.device),
                              (unsigned long long)c->workspace_bytes, (unsigned long long)most);
    if (err)
        destroy_compiled(c);
    return err;
}

static int compile(struct ferry__claim *c, const ferry_net *net, const void *const *constants,
                   bool *out_refused)
{
    struct ferry__stored file;
    int err = ferry__store_find(net, &c->by, &c->graph, constants, &file);

    if (!err && file.path[0])
        err = ferry__store_load(&file, &c->by, &c->graph, &c->prepared, &c->workspace_bytes);
    if (err && !is_refusal(err))
        return err;
    if (c->prepared)
        return 0;
    err = compile_anew(c, constants);
    if (!err && file.path[0])
        ferry__store_save(&file, &c->by, c->prepared);
    *out_refused = is_refusal(err);
    if (!*out_refused)
        return err;
    ferry_log_write(FERRY_LOG_WARN,
                    "net \"%s\": segment %d, %u operations from \"%s\" on: %s; they run one by one",
                    net->name, c->number, c->graph.told.n_nodes, c->graph.nodes[0].told.name,
                    ferry_last_error());
    return 0;
}

int ferry__claim_prepare(struct ferry__claim *c, const ferry_net *net, bool *out_refused)
{
    uint64_t version = version_of(c);
    const void **constants = NULL;
    int err;

    *out_refused = false;
    if (c->prepared && c->version == version)
        return 0;
    destroy_compiled(c);
    err = find_constants(c, &constants);
    if (!err)
        err = compile(c, net, constants, out_refused);
    free(constants);
    c->version = version;
    return err;
}

/* ---- running --------------------------------------------------------------------------------- */

struct running {
    struct ferry__claim *claim;
    ferry_graph_run_args args;
};

static int call_run(void *ctx, void *queue, void *arg)
{
    const struct running *r = arg;

    return r->claim->by.table->run(ctx, queue, r->claim->prepared, &r->args);
}

/*
 * Accesses the inputs and the outputs on the device. *taken is the number of outputs that count as
 * being written from here on.
 */
static int take_borders(struct ferry__claim *c, ferry_queue *q, int *taken)
{
    int i, reads = 0, n = 0, err = 0;
    ferry_ref ref;
    uint32_t k;

    for (k = 0; !err && k < c->graph.told.n_edges; k++)
        if (c->graph.edges[k].told.flags & FERRY_GRAPH_INPUT) {
            c->uses[n] =
                (ferry_memory_use){ ferry_blob_data_memory(c->graph.edges[k].blob), FERRY_READ };
            err = ferry_memory_access(c->uses[n++].memory, c->by.device, FERRY_READ, q, &ref);
            if (!err)
                c->in[reads++] = ferry_ref_const(ref);
        }
    for (i = 0, k = 0; !err && k < c->graph.told.n_edges; k++)
        if (c->graph.edges[k].told.flags & FERRY_GRAPH_OUTPUT) {
            c->uses[n] =
                (ferry_memory_use){ ferry_blob_data_memory(c->graph.edges[k].blob), FERRY_WRITE };
            err =
                ferry_memory_access(c->uses[n++].memory, c->by.device, FERRY_WRITE, q, &c->out[i]);
            i += !err;
        }
    *taken = i;
    return err;
}

/*
 * Submits between ferry_queue_begin and ferry_queue_end, so that the event covers only this
 * segment.
 */
static int submit(struct ferry__claim *c, ferry_queue *q, struct running *r)
{
    ferry_event *event = NULL;
    int err = ferry_queue_begin(q), late;

    if (err)
        return err;
    err = ferry_queue_call(q, "segment", call_run, r);
    late = ferry_queue_end(q, &event);
    if (!late)
        late = ferry_memory_record_all(c->uses, (size_t)(c->n_reads + c->n_writes), q, event);
    ferry_event_destroy(event);
    return err ? err : late;
}

static int run_with_workspace(struct ferry__claim *c, ferry_queue *q)
{
    struct running r = { .claim = c };
    struct ferry__workspace *w = NULL;
    int err = 0;

    r.args.struct_size = sizeof r.args;
    r.args.in = c->in;
    r.args.out = c->out;
    if (c->workspace_bytes)
        err = ferry__workspace_take(q, c->workspace_bytes, &w, &r.args.workspace);
    if (!err)
        err = submit(c, q, &r);
    if (err == FERRY_ENOMEM && !ferry_device_make_room(c->by.device, FERRY__PLAN_ROOM) &&
        (!c->workspace_bytes || w))
        err = submit(c, q, &r);
    ferry__workspace_give_back(w);
    return err;
}

int ferry__claim_run(struct ferry__claim *c, ferry_queue *q)
{
    int taken, i, err = take_borders(c, q, &taken);

    if (!err)
        err = run_with_workspace(c, q);
    for (i = 0; err && i < taken; i++)
        ferry_memory_mark_lost(c->uses[c->n_reads + i].memory);
    return err;
}
